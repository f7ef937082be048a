# SPDX-License-Identifier: Apache-2.0
# The page, as a C file that the server is linked with: the bundle of web/ where npm is, else nothing, and the server
# says so. Sets ST_WEB_ASSETS. A wheel or a machine without npm can be given a bundle: -DST_WEB_BUNDLE=folder.
set(ST_WITH_WEB AUTO CACHE STRING "Build the web page: AUTO, ON or OFF")
set(ST_WEB_BUNDLE "" CACHE PATH "A bundle that was built elsewhere (node web/build.mjs FOLDER)")
set(ST_WEB_ASSETS "${CMAKE_BINARY_DIR}/web/assets.c")
set(embed "${CMAKE_SOURCE_DIR}/cmake/EmbedWeb.cmake")
find_program(ST_NPM npm)
find_program(ST_NODE node NAMES node nodejs)
mark_as_advanced(ST_NPM ST_NODE)

if(ST_WEB_BUNDLE)
  set(ST_HAS_WEB ON)
  add_custom_command(OUTPUT "${ST_WEB_ASSETS}"
    COMMAND "${CMAKE_COMMAND}" "-DBUNDLE=${ST_WEB_BUNDLE}" "-DOUTPUT=${ST_WEB_ASSETS}" -P "${embed}"
    DEPENDS "${embed}" "${ST_WEB_BUNDLE}/manifest.txt" VERBATIM)
elseif(NOT ST_WITH_WEB STREQUAL "OFF" AND ST_NPM AND ST_NODE)
  set(ST_HAS_WEB ON)
  set(bundle "${CMAKE_BINARY_DIR}/web/bundle")
  set(stamp "${CMAKE_BINARY_DIR}/web/npm-stamp")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*")
  add_custom_command(OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" "-DNPM=${ST_NPM}" "-DWEB=${CMAKE_SOURCE_DIR}/web" "-DSTAMP=${stamp}"
            -P "${CMAKE_SOURCE_DIR}/cmake/WebPackages.cmake"
    DEPENDS "${CMAKE_SOURCE_DIR}/web/package-lock.json" VERBATIM
    COMMENT "Packages of the page")
  add_custom_command(OUTPUT "${ST_WEB_ASSETS}"
    COMMAND "${CMAKE_COMMAND}" "-DNODE=${ST_NODE}" "-DWEB=${CMAKE_SOURCE_DIR}/web" "-DBUNDLE=${bundle}"
            "-DOUTPUT=${ST_WEB_ASSETS}" -P "${embed}"
    DEPENDS "${embed}" "${stamp}" "${CMAKE_SOURCE_DIR}/web/build.mjs" ${sources} VERBATIM
    COMMENT "The page")
elseif(ST_WITH_WEB STREQUAL "ON")
  message(FATAL_ERROR "npm or node is missing: install nodejs and npm, or configure with -DST_WITH_WEB=OFF")
else()
  set(ST_HAS_WEB OFF)
  add_custom_command(OUTPUT "${ST_WEB_ASSETS}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${ST_WEB_ASSETS}" -P "${embed}" DEPENDS "${embed}" VERBATIM)
endif()
message(STATUS "web page: ${ST_HAS_WEB}")
