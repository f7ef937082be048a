# SPDX-License-Identifier: Apache-2.0
# How a test file becomes a test. Rows are written by hand in tests/*/CMakeLists.txt: no globs.

pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(NOT CMOCKA_FOUND)
  message(FATAL_ERROR "cmocka is missing: install libcmocka-dev, or configure with -DST_WITH_TESTS=OFF")
endif()

# st_unit_test(name [SOURCES …] [DEPENDS …] [LABELS …] [TIMEOUT seconds] [ENVIRONMENT A=b …])
# One cmocka program, one process, one ctest row. SOURCES defaults to name.c in the current folder.
function(st_unit_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.c)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE st_flags ${ARG_DEPENDS} PkgConfig::CMOCKA)
  target_compile_definitions(${name} PRIVATE
    ST_TEST_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ST_TEST_BUILD_DIR="${CMAKE_BINARY_DIR}")
  if(ST_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${ST_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${name} PRIVATE -fsanitize=${ST_SANITIZE})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT}
    LABELS "unit;${ARG_LABELS}"
    ENVIRONMENT "CMOCKA_MESSAGE_OUTPUT=STDOUT;${ARG_ENVIRONMENT}")
endfunction()

# st_test_program(name [SOURCES …] [LIBS …]): a program that tests run as a target. Never sanitized: it
# has to look like any program a user might start.
function(st_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.c)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE st_flags ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/programs")
endfunction()
