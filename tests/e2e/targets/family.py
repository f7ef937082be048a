# SPDX-License-Identifier: Apache-2.0
"""Starts children in the way asked for; parent and children label what they do through ittapi.

usage: family.py HOW COUNT TARGET
HOW: subprocess | posix_spawn | fork_exec | fork | exec | spawn | forkserver | popen_shell
"""

import multiprocessing
import os
import subprocess
import sys

import ittapi


def label(name, count):
    domain = ittapi.domain("family")
    for _ in range(count):
        with ittapi.task(name, domain=domain):
            pass


def child(number, count):
    label(f"child_{number}", count)


def by_multiprocessing(how, count):
    context = multiprocessing.get_context(how)
    workers = [context.Process(target=child, args=(number, count)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0


def fork_and(then):
    pid = os.fork()
    if pid == 0:
        then()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def main():
    how, count, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    command = [target, "--threads", "0", "--pairs", str(count), "--labels", "1", "--label-prefix", "program", "--quiet"]
    label("parent", count)
    if how == "subprocess":
        for _ in range(2):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    elif how == "posix_spawn":
        pid = os.posix_spawn(target, command, os.environ)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    elif how == "fork_exec":
        fork_and(lambda: os.execv(target, command))
    elif how == "fork":
        for number in range(2):
            fork_and(lambda number=number: child(number, count))
    elif how == "popen_shell":
        subprocess.run("exec " + " ".join(f"'{word}'" for word in command), shell=True, check=True)
        os.system("true && " + " ".join(f"'{word}'" for word in command))
    elif how == "exec":
        os.execv(target, command)
    else:
        by_multiprocessing(how, count)


if __name__ == "__main__":
    main()
