# SPDX-License-Identifier: Apache-2.0
"""Sockets, threads and queues that gevent has replaced, and its pool of real threads."""

from gevent import monkey

monkey.patch_all()

import hashlib  # noqa: E402
import queue  # noqa: E402
import socket  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

import gevent  # noqa: E402

COUNT = 20
answers, items = [], queue.Queue()
listener = socket.create_server(("127.0.0.1", 0))


def serve():
    for _ in range(COUNT):
        connection, _ = listener.accept()
        connection.sendall(connection.recv(100)[::-1])
        connection.close()


def ask(number):
    with socket.create_connection(listener.getsockname()) as connection:
        connection.sendall(b"abc%d" % number)
        answers.append(connection.recv(100))


gevent.joinall([gevent.spawn(serve), *(gevent.spawn(ask, number) for number in range(COUNT))], raise_error=True)
thread = threading.Thread(target=lambda: (time.sleep(0.05), items.put(1)))
thread.start()
print(items.get(), sorted(answers))
print(gevent.get_hub().threadpool.apply(lambda: hashlib.sha256(b"x" * 1000000).hexdigest()))
