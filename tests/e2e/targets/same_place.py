# SPDX-License-Identifier: Apache-2.0
"""same_place.py ROUNDS DEPTH: functions "of a file" that come and go in one module, each where the first one was.

Not only the code object lies there again but its name, its file's name and its line table, too. Each works inside of
DEPTH other functions. Prints the CPU time that each took by the thread's clock.
"""

import json
import sys
import time

TEXT = """def {name}():
    began = time.thread_time()
    {work}
    return time.thread_time() - began
"""
ROUNDS, DEPTH = int(sys.argv[1]), int(sys.argv[2])


def work():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        for _ in range(200):
            pass


scope = {"time": time, "inner_0": work}
for number in range(1, DEPTH + 1):
    exec(compile(f"def inner_{number}(): inner_{number - 1}()", "/opt/made/inner.py", "exec"), scope)


def which(number):
    return number * number // 8 % 5


def make(number):
    text = TEXT.format(name=f"made_{which(number)}", work=f"inner_{DEPTH}()")
    exec(compile(text, "/opt/made/module.py", "exec"), scope)
    return scope.pop(f"made_{which(number)}")


def place(code):
    if sys.version_info >= (3, 12):  # a code has a number that tells
        return id(code)
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    return id(code), id(code.co_name), id(code.co_filename), id(table)


spent, done, places, usual = [0.0] * 5, 0, {}, None
for number in range(1000 + ROUNDS * 50):
    function = make(number)
    at = place(function.__code__)
    if number < 1000:
        places.setdefault(at, [0] * 5)[which(number)] += 1
    elif not usual:
        usual = max(places, key=lambda at: (sum(count > 2 for count in places[at]), sum(places[at])))
    elif at == usual and done < ROUNDS:
        spent[which(number)] += function()
        done += 1
    del function
print(json.dumps(spent))
