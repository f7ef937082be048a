# SPDX-License-Identifier: Apache-2.0
"""Loads libraries that hold a real ITT static part, and has every function of it called.

usage: real_part.py CALLS-LIBRARY JOURNAL-FOLDER WHAT PART [PART] [ROUNDS]
WHAT: call_all | pauses | begins_again | detaches | first_call | two_parts | reopen |
      constructor;  PART: torch | ittapi
"""

import _ctypes
import ctypes
import importlib.util
import os
import sys
from pathlib import Path


def library(part):
    """The file; nothing is imported, so that the first call of all is ours."""
    folder = Path(importlib.util.find_spec(part).submodule_search_locations[0])
    if part == "torch":
        return folder / "lib" / "libtorch_cpu.so"
    return next(folder.glob("native*.so"))


def reopen(path, rounds):
    """Loads the library, has a task recorded, and unloads it, with all that its static part holds."""
    for _ in range(rounds):
        handle = _ctypes.dlopen(path, 0)
        if calls.real_first_call(ctypes.c_void_p(handle), journal, ctypes.c_uint(0)):
            return 1
        _ctypes.dlclose(handle)
        if path in Path("/proc/self/maps").read_text():
            return 2
    return 0


def constructor(path):
    """The state of the collection, asked for in a constructor, is "success"; then a task is recorded."""
    os.environ["REAL_PART"] = path
    asking = ctypes.CDLL(str(Path(sys.argv[1]).with_name("real_constructor.so")))
    handle = ctypes.c_void_p(ctypes.CDLL(path)._handle)
    return ctypes.c_int.in_dll(asking, "real_state").value != 4 or calls.real_first_call(handle, journal, 0)


calls = ctypes.CDLL(sys.argv[1])
journal, what, words = sys.argv[2].encode(), sys.argv[3], sys.argv[4:]
if what == "reopen":
    sys.exit(reopen(str(library(words[0])), int(words[1])))
if what == "constructor":
    sys.exit(constructor(str(library(words[0]))))
handles = [ctypes.c_void_p(ctypes.CDLL(str(library(word)))._handle) for word in words if not word.isdigit()]
rounds = [ctypes.c_uint(int(word)) for word in words if word.isdigit()]
sys.exit(getattr(calls, f"real_{what}")(*handles, journal, *rounds))
