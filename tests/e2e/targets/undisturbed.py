# SPDX-License-Identifier: Apache-2.0
"""Waits in system calls that would notice being held, without anything that tries again; says which ended early."""

import contextlib
import ctypes
import os
import select
import socket
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
early, waiting = [], []


def call(name, *args):
    waiting.append(name)
    result = getattr(libc, name)(*args)
    early.append((name, result, os.strerror(ctypes.get_errno())))


class Event(ctypes.Structure):
    _fields_ = [("events", ctypes.c_uint32), ("data", ctypes.c_uint64)]
    _pack_ = 1


poll = select.epoll()
semaphore = ctypes.create_string_buffer(32)
libc.sem_init(semaphore, 0, 0)
read_end, write_end = os.pipe()
# With a timeout, read and write of a socket are not begun again by the kernel.
patient, _peer = socket.socketpair()
for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
    patient.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 900, 0))
with contextlib.suppress(BlockingIOError):
    while True:
        patient.send(bytes(65536), socket.MSG_DONTWAIT)
buffer = ctypes.create_string_buffer(1)
signals = (ctypes.c_uint64 * 16)(1 << 11)  # SIGUSR2, which nobody sends
for args in (
    ("epoll_wait", poll.fileno(), ctypes.byref(Event()), 1, -1),
    ("sem_wait", semaphore),
    ("usleep", 900_000_000),
    ("read", read_end, ctypes.create_string_buffer(1), 1),
    ("read", patient.fileno(), buffer, 1),
    ("write", patient.fileno(), buffer, 1),
    ("sigwaitinfo", signals, None),
    ("poll", None, 0, -1),
):
    threading.Thread(target=call, args=args, name=args[0], daemon=True).start()
while len(waiting) < 8:
    pass
print("ready", os.getpid(), flush=True)
sys.stdin.read()
print("undisturbed" if not early else early, flush=True)
os._exit(0)
