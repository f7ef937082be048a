# SPDX-License-Identifier: Apache-2.0
"""Compares our decoder of line tables with CPython's own, over the standard library it comes with.

python_lines_of.py PROBE EVERY: each EVERY-th file. Prints how many positions were compared.
"""

import ctypes
import dis
import os
import sys
import types
import warnings

warnings.simplefilter("ignore")


class Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("first_line", ctypes.c_uint32),
        ("bytes", ctypes.c_char_p),
        ("size_bytes", ctypes.c_size_t),
    ]


lib = ctypes.CDLL(sys.argv[1])
lib.probe_line_of.restype = ctypes.c_uint32
NEW = sys.version_info >= (3, 10)


def lines(code):
    """offset in bytes -> line, or 0; as CPython has it"""
    size = len(code.co_code)
    if NEW:
        return {at: line or 0 for start, end, line in code.co_lines() for at in range(start, end, 2)}
    starts = dict(dis.findlinestarts(code))
    found, line = {}, code.co_firstlineno
    for at in range(0, size, 2):
        line = starts.get(at, line)
        found[at] = line
    return found


def compare(code):
    raw = code.co_linetable if NEW else code.co_lnotab
    table = Table(sys.hexversion, 0, code.co_firstlineno, raw, len(raw))
    checked = 0
    for at, line in lines(code).items():
        if at >= len(code.co_code):
            continue
        got = lib.probe_line_of(ctypes.byref(table), at // 2 if NEW else at)
        assert got == line, (code, at, got, line)
        checked += 1
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            checked += compare(inner)
    return checked


def main():
    files = []
    for folder, folders, names in os.walk(os.path.dirname(os.__file__)):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "lib2to3"))
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")]
    checked = 0
    for path in files[:: int(sys.argv[2])]:
        with open(path, "rb") as file:
            source = file.read()
        try:
            code = compile(source, path, "exec")
        except (SyntaxError, ValueError):
            continue  # the library has files that are wrong on purpose
        checked += compare(code)
    print(checked)


main()
