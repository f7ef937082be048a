# SPDX-License-Identifier: Apache-2.0
"""replaced_code.py ROUNDS: functions "of a file" that come and go at one address, in one module.

Prints the CPU time that each took by the thread's clock, and how often an address was used again.
"""

import json
import sys
import time

TEXT = """def {name}():
    began = time.thread_time()
    while time.thread_time() - began < 0.02:
        for _ in range(200):
            pass
    return time.thread_time() - began
"""
scope = {"time": time}
spent, places = {}, {}

for number in range(int(sys.argv[1])):
    name = f"made_{number % 5}"
    exec(compile(TEXT.format(name=name), "/opt/made/module.py", "exec"), scope)
    function = scope.pop(name)
    place = id(function.__code__)
    places[place] = places.get(place, 0) + 1
    spent[name] = spent.get(name, 0) + function()
    del function
print(json.dumps({"spent": spent, "most": max(places.values())}))
