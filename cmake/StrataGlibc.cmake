# SPDX-License-Identifier: Apache-2.0
# The oldest C library that is tested, and the one that is built against: below the floor the build ends with a clear
# word, and what is built says which one it needs.
set(ST_GLIBC_FLOOR 2.36)

if(NOT ST_GLIBC)
  file(WRITE "${CMAKE_BINARY_DIR}/glibc.h" "#include <features.h>\nST_GLIBC_IS __GLIBC__ __GLIBC_MINOR__\n")
  execute_process(COMMAND "${CMAKE_C_COMPILER}" -E -P -x c "${CMAKE_BINARY_DIR}/glibc.h"
    OUTPUT_VARIABLE told ERROR_QUIET)
  if(told MATCHES "ST_GLIBC_IS ([0-9]+) ([0-9]+)")
    set(ST_GLIBC "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
  else()
    set(ST_GLIBC none)
  endif()
endif()
if(ST_GLIBC STREQUAL none)
  message(FATAL_ERROR "strata needs glibc ${ST_GLIBC_FLOOR} or later (Debian 12); this machine has another C library")
endif()
if(ST_GLIBC VERSION_LESS ST_GLIBC_FLOOR)
  message(FATAL_ERROR "strata needs glibc ${ST_GLIBC_FLOOR} or later (Debian 12); this machine has ${ST_GLIBC}")
endif()
