"""What the programs have in common that spoil what passes through them on its way to a server."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress


class Spoiler:
    """Listens on a port, and counts what it does by kind."""

    def __init__(self, upstream: int, rate: float, seed: int) -> None:
        self.upstream = upstream
        self.rate = rate
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def reset(self, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on as they come, to the end."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def until_either_ends(*both: Coroutine[None, None, None]) -> None:
    """Run both ways of a connection until one of them ends, which ends the other."""
    tasks = [asyncio.create_task(way) for way in both]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, ConnectionError, OSError):
                await task


async def run(kind: type[Spoiler], description: str, rate: float) -> None:
    """Print the port, serve until the standard input closes, and print the counts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--upstream", type=int, required=True, help="the server's port on 127.0.0.1")
    parser.add_argument("--rate", type=float, default=rate, help="the part of what passes through that is spoiled")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    spoiler = kind(arguments.upstream, arguments.rate, arguments.seed)
    server = await asyncio.start_server(spoiler.serve, "127.0.0.1", 0, backlog=512)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(spoiler.counts), flush=True)
