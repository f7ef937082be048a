# SPDX-License-Identifier: Apache-2.0
"""Python programs that churn what a sampler reads: frames, threads, processes. Prints the same in every run."""

import os
import signal
import sys
import threading
import time


def burn(ms):
    until = time.thread_time() + ms / 1000
    count = 0
    while time.thread_time() < until:
        count += 1
    return count


def down(depth):
    if depth:
        return down(depth - 1) + 1
    burn(50)
    return 0


def recursion():
    sys.setrecursionlimit(12000)
    threading.stack_size(256 << 20)
    results = []
    for _ in range(5):
        thread = threading.Thread(target=lambda: results.append(down(10000)))
        thread.start()
        thread.join()
    print(results)


def generator(depth):
    if depth:
        yield from generator(depth - 1)
    yield depth


def churn(which, results):
    results[which] = sum(generator(40)) + sum(sorted(range(200), key=lambda value: -value))


def threads():
    results = {}
    for round in range(60):
        some = [threading.Thread(target=churn, args=(round * 4 + i, results)) for i in range(4)]
        for thread in some:
            thread.start()
        for thread in some:
            thread.join()
    print(len(results), sum(results.values()))


def fork():
    total = 0
    for i in range(20):
        pid = os.fork()
        if not pid:
            burn(5)
            os._exit(i)
        total += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(total)


def signals():
    seen = []
    signal.signal(signal.SIGTRAP, lambda number, frame: seen.append(number))
    signal.signal(signal.SIGPROF, lambda number, frame: seen.append(number))
    for _ in range(10):
        burn(5)
        os.kill(os.getpid(), signal.SIGTRAP)
    burn(5)
    print(seen.count(signal.SIGTRAP), seen.count(signal.SIGPROF))
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    burn(50)
    os.kill(os.getpid(), signal.SIGUSR1)
    print(signal.sigwait(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}))


def raises(depth):
    if not depth:
        raise ValueError("deep")
    try:
        raises(depth - 1)
    finally:
        burn(0.2)


def exceptions():
    caught = 0
    for _ in range(20):
        try:
            raises(60)
        except ValueError:
            caught += 1
    print(caught)


def greenlets():
    import greenlet

    total = []

    def work(number):
        for _ in range(20):
            burn(1)
            total.append(number)
            hub.switch()

    def run():
        some = [greenlet.greenlet(work) for _ in range(10)]
        for _ in range(21):
            for number, one in enumerate(some):
                if not one.dead:
                    one.switch(number) if not one else one.switch()

    hub = greenlet.getcurrent()
    run()
    print(len(total), sum(total))


def ending():
    """The interpreter ends while threads that it does not wait for use the processor without its lock, with frames of
    Python's below them: what it keeps of them goes away under their feet."""
    import hashlib

    data = bytes(64 << 20)
    begun = threading.Barrier(5)

    def hash_for_ever(depth):
        if depth:
            hash_for_ever(depth - 1)
        begun.wait()
        while True:
            hashlib.sha256(data)

    for depth in (1, 5, 25, 125):
        threading.Thread(target=hash_for_ever, args=(depth,), daemon=True).start()
    begun.wait()
    print("ending", flush=True)


globals()[sys.argv[1]]()
