"""A line of bad manners: passes bytes on to a port, and harms some of the connections.

`python relay.py --upstream 40001` listens on a free port of 127.0.0.1 and prints {"port": 54321} as its first line. It
stops when its standard input closes, and prints as JSON how many connections were harmed in which way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
from collections import Counter
from contextlib import suppress

# What happens to a connection: at once, or behind some bytes of what the server sends.
AT_ONCE = ("refused",)
LATER = ("cut", "reset", "silent", "garbage")


class Relay:
    def __init__(self, upstream: int, rate: float, seed: int) -> None:
        self.upstream = upstream
        self.rate = rate
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_harmed = self.random.random() < self.rate
        fault = self.random.choice(AT_ONCE + LATER + ("slow",)) if is_harmed else "none"
        self.counts[fault] += 1
        if fault in AT_ONCE:
            return self.reset(writer)
        with suppress(ConnectionError, OSError):
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
            sending = asyncio.create_task(self.send(reader, upstream_writer))
            receiving = asyncio.create_task(self.receive(fault, upstream_reader, writer))
            await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, receiving):
                task.cancel()
                with suppress(asyncio.CancelledError, ConnectionError, OSError):
                    await task
            upstream_writer.close()
        writer.close()

    async def send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def receive(self, fault: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.random.randrange(1_000, 100_000) if fault in LATER else sys.maxsize
        while data := await reader.read(min(left, 65536)):
            if fault == "slow":
                await asyncio.sleep(self.random.uniform(0.01, 0.2))
            writer.write(data)
            await writer.drain()
            left -= len(data)
            if left:
                continue
            if fault == "silent":
                # What the client sends is still taken.
                await asyncio.get_running_loop().create_future()
            if fault == "garbage":
                writer.write(self.random.randbytes(200))
                await writer.drain()
            return self.reset(writer) if fault == "reset" else None

    def reset(self, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def main() -> None:
    parser = argparse.ArgumentParser(description="A line of bad manners.")
    parser.add_argument("--upstream", type=int, required=True, help="the server's port on 127.0.0.1")
    parser.add_argument("--rate", type=float, default=0.3, help="the part of the connections to harm")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    relay = Relay(arguments.upstream, arguments.rate, arguments.seed)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0, backlog=512)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(relay.counts), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
