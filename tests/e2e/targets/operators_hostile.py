# SPDX-License-Identifier: Apache-2.0
"""operators_hostile.py MODE [ARGUMENT]: what programs may do to whoever records their operators.

elsewhere  ranges that end on another thread than they began on, alone, crossed, and of a thread that is gone
leave      a thread that ends with ranges open
exit       os._exit in an operator, inside of a range
fork       an operator that forks; the child goes on in it, and leaves it
renamed    custom operators that are taken back, and others in their place
names      10,000 long names, each once
pause      an operator that pauses, and one that resumes
late       operators at the interpreter's end, and when LIBRARY ends behind it
churn      36,000 different inputs
deep       modules in modules, deeper than is kept
"""

import atexit
import ctypes
import gc
import os
import sys
import threading

import torch
from torch import nn
from torch.profiler import record_function

mode = sys.argv[1]
torch.set_num_threads(1)


def mark(size):
    torch.ones(size)


def in_thread(code, *arguments):
    thread = threading.Thread(target=code, args=arguments)
    thread.start()
    thread.join()


def leave(one):
    one.__exit__(None, None, None)


def elsewhere():
    alone = record_function("ends elsewhere").__enter__()
    mark(3)
    in_thread(leave, alone)
    mark(4)  # not in it
    outer = record_function("outer").__enter__()
    inner = record_function("inner").__enter__()
    in_thread(leave, outer)
    mark(5)  # in both: the inner one has not ended
    leave(inner)
    mark(6)  # in none
    kept = []

    def begin():
        kept.append(record_function("of a thread that is gone").__enter__())
        mark(7)

    in_thread(begin)
    leave(kept[0])
    mark(8)
    last = record_function("the last of all").__enter__()
    in_thread(leave, last)


def thread_leaves():
    kept = []

    def work():
        kept.append(record_function("left open").__enter__())
        kept.append(record_function("left open too").__enter__())
        mark(3)

    # Nobody ends them: to free them, when this returns, would.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    in_thread(work)
    in_thread(mark, 4)  # perhaps in the place of the first thread
    mark(5)


def library(name, code):
    made = torch.library.Library("hostile", "FRAGMENT")
    made.define(f"{name}(Tensor x) -> Tensor")
    made.impl(name, code, "CPU")
    return made


def exit_in_operator():
    def code(x):
        mark(3)
        os._exit(7)

    kept = library("leaves", code)
    with record_function("around the exit"):
        torch.ops.hostile.leaves(torch.ones(2))
    print(kept)


def fork_in_operator():
    def code(x):
        child = os.fork()
        if not child:
            mark(3)
            return x + 1
        os.waitpid(child, 0)
        return x + 2

    kept = library("forks", code)
    parent = os.getpid()
    with record_function("around the fork"):
        torch.ops.hostile.forks(torch.ones(2))
    mark(4 if os.getpid() == parent else 5)
    if os.getpid() != parent:
        os._exit(0)
    print(kept)


def renamed():
    for number in range(40):
        kept = library(f"one_{number:02}", lambda x: x.clone())
        getattr(torch.ops.hostile, f"one_{number:02}")(torch.ones(2))
        kept._destroy()
        del kept
        gc.collect()


def names():
    for number in range(10000):
        with record_function(f"{number:05} " + "long " * 200):
            pass
    mark(3)


def short_names():
    for number in range(1000):
        for name in (f"{number}", f"step_{number:03}"):
            with record_function(name):
                pass


def pause():
    import itt  # offered by strata where none is installed

    def code(x):
        mark(3)
        itt.pause()
        mark(4)
        return x + 1

    def resume(x):
        mark(5)
        itt.resume()
        mark(6)
        return x + 1

    kept = library("pauses", code), library("resumes", resume)
    torch.ops.hostile.pauses(torch.ones(2))
    mark(7)
    torch.ops.hostile.resumes(torch.ones(2))
    mark(8)
    print(kept)


class Late:
    def __del__(self):
        mark(5)


def late():
    # Whoever dies last does something.
    sys.modules["__main__"].last = Late()
    kept = ctypes.CDLL(sys.argv[2])
    kept.use(torch.__file__.replace("__init__.py", "lib/libtorch_cpu.so").encode())
    atexit.register(mark, 4)


def churn():
    data = torch.ones(200, 200)
    for rows in range(200):
        for columns in range(1, 161):
            data[:rows, :columns].neg()
    for columns in range(161, 181):
        for rows in range(200):
            data[:rows, :columns].neg()


class Deep(nn.Module):
    def forward(self, depth):
        return self(depth - 1) if depth else mark(3)


def deep():
    sys.setrecursionlimit(10000)
    Deep()(400)
    mark(4)
    Deep()(10)


{
    "elsewhere": elsewhere,
    "leave": thread_leaves,
    "exit": exit_in_operator,
    "fork": fork_in_operator,
    "renamed": renamed,
    "names": names,
    "short": short_names,
    "pause": pause,
    "late": late,
    "deep": deep,
    "churn": churn,
}[mode]()
