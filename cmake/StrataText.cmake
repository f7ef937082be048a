# SPDX-License-Identifier: Apache-2.0
# Turns a text file into a C source with one array: cmake -DINPUT= -DOUTPUT= -DNAME= -DHEADER= -P StrataText.cmake
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
  "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${bytes}0x00};\n")
