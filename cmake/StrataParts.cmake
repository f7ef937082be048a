# SPDX-License-Identifier: Apache-2.0
# Libraries of others that are linked in, where there are static ones: into libstrata.so, whose process may have others
# with other limits, and, in a wheel, into the command, which then needs few libraries of the machine it comes to.
# elfutils' static libraries cannot be put into a shared one, so those are the system's. With what is linked in goes
# its licence, as the package has it that the library came from.
option(ST_PRIVATE_PARTS "Link static libraries into libstrata.so, and into a wheel, where there are any" ON)

# st_private_part(name library package): sets ST_PRIVATE_name to the static library, else to the shared one.
function(st_private_part name library package)
  set(ST_PRIVATE_${name} PkgConfig::${name} PARENT_SCOPE)
  if(NOT ST_PRIVATE_PARTS)
    return()
  endif()
  find_library(ST_STATIC_${library} NAMES lib${library}.a)
  mark_as_advanced(ST_STATIC_${library})
  if(NOT ST_STATIC_${library})
    return()
  endif()
  set(ST_PRIVATE_${name} "${ST_STATIC_${library}}" PARENT_SCOPE)
  if(SKBUILD)
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "${ST_STATIC_${library}}")
  endif()
  st_part_licence(${library} ${package})
endfunction()

function(st_part_licence library package)
  set(licence "/usr/share/doc/${package}/copyright")
  if(EXISTS "${licence}")
    install(FILES "${licence}" DESTINATION share/doc/strata/licences RENAME "${library}")
  elseif(SKBUILD)
    message(WARNING "${licence} is not there: the wheel holds ${library} without its licence")
  endif()
endfunction()

st_private_part(ZSTD zstd libzstd-dev)
st_private_part(ZLIB z zlib1g-dev)
st_private_part(JSONC json-c libjson-c-dev)
st_private_part(CAPSTONE capstone libcapstone-dev)
st_private_part(SQLITE sqlite3 libsqlite3-dev)
st_part_licence(iberty libiberty-dev)
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION share/doc/strata)
