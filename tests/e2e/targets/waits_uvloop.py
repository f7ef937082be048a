# SPDX-License-Identifier: Apache-2.0
"""Connections, a pool of threads and a child process, all awaited in uvloop's loop."""

import asyncio
import hashlib

import uvloop


async def answer(reader, writer):
    writer.write((await reader.read(100))[::-1])
    await writer.drain()
    writer.close()


async def ask(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"x%d" % number)
    answered = await reader.read(100)
    writer.close()
    return answered


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sorted(await asyncio.gather(*(ask(port, number) for number in range(50)))))
    work = lambda: hashlib.sha256(b"y" * 1000000).hexdigest()  # noqa: E731
    print(await asyncio.get_running_loop().run_in_executor(None, work))
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec("sh", "-c", "echo hi; exit 3", stdout=pipe)
    print((await child.communicate())[0], child.returncode)
    server.close()


uvloop.run(main())
