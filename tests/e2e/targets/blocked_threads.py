# SPDX-License-Identifier: Apache-2.0
"""Threads that wait at known lines, each in another way, and a main thread that burns CPU time. Says when all wait."""

import os
import queue
import select
import socket
import sys
import threading
import time
from pathlib import Path

lock = threading.Lock()
lock.acquire()
empty = queue.Queue()
silent, _peer = socket.socketpair()


def in_lock():
    lock.acquire()  # in_lock


def in_queue():
    empty.get()  # in_queue


def in_sleep():
    time.sleep(1000)  # in_sleep


def in_receive():
    silent.recv(1)  # in_receive


def in_epoll():
    poll = select.epoll()
    poll.register(silent.fileno(), select.EPOLLIN)
    poll.poll()  # in_epoll


def outer(function):
    function()  # outer


def waits(thread):
    state = Path(f"/proc/self/task/{thread.native_id}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "S"


def burn():
    number = 0
    while True:  # loop
        number += 1  # burn


threads = []
for function in (in_lock, in_queue, in_sleep, in_receive, in_epoll):
    thread = threading.Thread(target=outer, args=(function,), name=f"thread {function.__name__}", daemon=True)
    thread.start()
    threads.append(thread)
# Waiting for the GIL is waiting too: who waits ten times in a row while this thread sleeps does not want it.
seen = 0
while seen < 10:
    time.sleep(0.002)
    seen = seen + 1 if all(map(waits, threads)) else 0
print("ready", os.getpid(), flush=True)
if len(sys.argv) > 1 and sys.argv[1] == "idle":
    sys.stdin.read()
else:
    burn()  # main
