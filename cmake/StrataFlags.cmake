# SPDX-License-Identifier: Apache-2.0
# Flags shared by every target, and the two ways a folder becomes a library.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -fno-omit-frame-pointer")

option(ST_WERROR "Treat warnings as errors" OFF)
set(ST_SANITIZE "" CACHE STRING "Sanitizers for everything but the collector, e.g. address,undefined")

add_library(st_flags INTERFACE)
target_compile_definitions(st_flags INTERFACE _GNU_SOURCE ST_VERSION="${PROJECT_VERSION}")
target_compile_options(st_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wvla -Wundef
  -Wformat=2 -Wimplicit-fallthrough -fvisibility=hidden -fstack-protector-strong
  $<$<BOOL:${ST_WERROR}>:-Werror>
  # What is given away says nothing of where it was built.
  $<$<BOOL:${SKBUILD}>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)
target_include_directories(st_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_options(st_flags INTERFACE -Wl,-z,now -Wl,-z,relro)

# st_module(name SOURCES … DEPENDS …): one folder, one static library.
function(st_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC st_flags ${ARG_DEPENDS})
  if(ST_SANITIZE)
    target_compile_options(${name} PUBLIC -fsanitize=${ST_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${name} PUBLIC -fsanitize=${ST_SANITIZE})
  endif()
endfunction()
