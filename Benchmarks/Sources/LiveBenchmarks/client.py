"""The client made of Python's websockets: `client.py receive|echo|open URL KIND COUNT CERTIFICATE` prints what it
measured as JSON."""

import asyncio
import json
import os
import ssl
import sys
import time

from websockets.asyncio.client import connect


async def receive(url, kind, count, certificate):
    async with connect(url, compression=None, max_size=None) as socket:
        start, begin, received = time.monotonic(), time.process_time(), 0
        await socket.send("go")
        async for message in socket:
            received += len(json.loads(message)["by"]) >= 0 if kind == "json" else 1
        return received, time.monotonic() - start, time.process_time() - begin


async def echo(url, kind, count, certificate):
    async with connect(url, compression=None) as socket:
        start, begin = time.monotonic(), time.process_time()
        for _ in range(count):
            await socket.send("x" * 30)
            await socket.recv()
        return count, time.monotonic() - start, time.process_time() - begin


async def hold(url, kind, count, certificate):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    options = dict(compression=None, ssl=ssl.create_default_context(cafile=certificate) if certificate else None)
    first, before = await connect(url, **options), resident()
    sockets = [await connect(url, **options) for _ in range(count)]
    return len(sockets), 0, (resident() - before) / count


async def main():
    work, url, kind, count, certificate = sys.argv[1:]
    run = {"receive": receive, "echo": echo, "open": hold}[work]
    received, seconds, processor = await run(url, kind, int(count), certificate)
    if work == "open":
        print(json.dumps({"rate": 0, "processor": 0, "memory": processor}))
    else:
        print(json.dumps({"rate": received / seconds, "processor": processor / received * 1e6, "memory": 0}))


asyncio.run(main())
