"""A line of bad manners: passes bytes on to a port, and harms some of the connections.

`python relay.py --upstream 40001` listens on a free port of 127.0.0.1 and prints {"port": 54321} as its first line. It
stops when its standard input closes, and prints as JSON how many connections were harmed in which way.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from spoiling import Spoiler, copy, run, until_either_ends

# What happens to a connection: at once, or behind some bytes of what the server sends.
AT_ONCE = ("refused",)
LATER = ("cut", "reset", "silent", "garbage")


class Relay(Spoiler):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_harmed = self.random.random() < self.rate
        fault = self.random.choice(AT_ONCE + LATER + ("slow",)) if is_harmed else "none"
        self.counts[fault] += 1
        if fault in AT_ONCE:
            return self.reset(writer)
        with suppress(ConnectionError, OSError):
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
            await until_either_ends(
                copy(reader, upstream_writer), self.receive(fault, upstream_reader, writer)
            )
            upstream_writer.close()
        writer.close()

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


if __name__ == "__main__":
    asyncio.run(run(Relay, "A line of bad manners.", rate=0.3))
