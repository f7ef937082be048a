# SPDX-License-Identifier: Apache-2.0
# cmake [-DNODE=node -DWEB=folder] [-DBUNDLE=folder] -DOUTPUT=file.c -P EmbedWeb.cmake: builds the bundle if NODE is
# given, and writes what its manifest lists as a C file for src/serve/http/assets.h. The bytes themselves are taken in by
# the assembler (.incbin), which is quick. Whatever fails, the file is written: without the page strata still builds.
set(lines "")
set(blobs "")
set(id "")
if(NODE)
  execute_process(COMMAND "${NODE}" "${WEB}/build.mjs" "${BUNDLE}" WORKING_DIRECTORY "${WEB}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(WARNING "the web page cannot be built, so that strata is built without it:\n${said}")
    file(REMOVE "${BUNDLE}/manifest.txt")
  endif()
endif()
if(BUNDLE AND EXISTS "${BUNDLE}/manifest.txt")
  file(READ "${BUNDLE}/bundle-id" id)
  string(STRIP "${id}" id)
  file(STRINGS "${BUNDLE}/manifest.txt" rows ENCODING UTF-8)
  set(number 0)
  foreach(row IN LISTS rows)
    # A media type has a semicolon, which a list would be taken apart at: fields are cut out, not split.
    string(REGEX MATCH "^([^\t]+)\t([^\t]+)\t(.*)$" found "${row}")
    set(path "${CMAKE_MATCH_1}")
    set(file "${CMAKE_MATCH_2}")
    set(type "${CMAKE_MATCH_3}")
    string(APPEND blobs "BLOB(asset_${number}, \"${BUNDLE}/${file}.gz\")\n")
    string(APPEND lines "\t{\"${path}\", \"${type}\", asset_${number}, asset_${number}_end},\n")
    math(EXPR number "${number} + 1")
  endforeach()
endif()
file(WRITE "${OUTPUT}" "/* Made by cmake/EmbedWeb.cmake. */
#include \"serve/http/assets.h\"

#define BLOB(name, file)                                                                       \\
	__asm__(\".section .rodata\\n\" #name \":\\n.incbin \\\"\" file \"\\\"\\n\" #name \"_end:\\n.byte 0\\n.previous\\n\"); \\
	extern const unsigned char name[], name##_end[];

${blobs}
const struct st_asset st_assets[] = {
${lines}\t{NULL, NULL, NULL, NULL},
};
const char st_assets_bundle_id[] = \"${id}\";
")
