"""A proxy of bad manners: passes requests on to a server, and spoils some of them.

`python proxy.py --upstream 40001` listens on a free port of 127.0.0.1 and prints {"port": 54321} as its first line. It
stops when its standard input closes. What it did is counted by kind; the counts are printed as JSON at the end.

An upgrade to a WebSocket, an event stream and a multipart response are passed on in both ways as they come. Where one
is spoiled, it is refused in a way that may pass, or something happens to it after a random number of bytes.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from spoiling import Spoiler, copy, run, until_either_ends

UNSENT = ("close", "reset", "hang", "garbage", "html", "status 429", "status 500", "status 502", "status 503")
SENT = (
    *("close after", "close in head", "reset after", "truncated", "reset in body", "invalid JSON"),
    *("slow", "very slow", "drip"),
)
# Refusals after which a client tries again, and what happens to a stream behind some bytes: it ends, is reset, falls
# silent, or comes byte by byte for a while.
LIVE = ("close", "reset", "hang", "status 429", "status 500", "status 502", "status 503")
STREAM = ("stream cut", "stream reset", "stream stall", "stream drip")
LIVE_FIELDS = (b"\r\nupgrade: websocket", b"text/event-stream", b"multipart/mixed;")


def head(status: int, length: int, *fields: str, content_type: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {content_type}", f"Content-Length: {length}", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


class Proxy(Spoiler):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            while await self.exchange(reader, writer):
                pass
        writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Carry one request out; whether the connection can carry another one."""
        request = await reader.readuntil(b"\r\n\r\n")
        length = next((line[15:] for line in request.lower().split(b"\r\n") if line.startswith(b"content-length:")), b"0")
        body = await reader.readexactly(int(length))
        is_live = any(field in request.lower() for field in LIVE_FIELDS)
        # A stream is a long exchange: as many are refused as spoiled later.
        faults = LIVE + STREAM + STREAM if is_live else UNSENT + SENT
        fault = self.random.choice(faults) if self.random.random() < self.rate else "none"
        self.counts[fault] += 1
        if fault in UNSENT:
            return await self.spoil(fault, reader, writer)
        if is_live:
            return await self.stream(fault, request + body, reader, writer)
        status, fields, answer = await self.forward(request, body)
        if fault == "slow":
            await asyncio.sleep(0.5)
        elif fault == "very slow":
            await asyncio.sleep(3)
        elif fault != "none":
            return await self.spoil(fault, reader, writer, status, answer)
        writer.write(head(status, len(answer), *fields) + answer)
        await writer.drain()
        return True

    async def spoil(
        self,
        fault: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        status: int = 200,
        answer: bytes = b"",
    ) -> bool:
        kind, _, code = fault.partition(" ")
        if kind == "status":
            writer.write(head(int(code), 4, "Retry-After: 0") + b"busy")
            return True
        if fault == "hang":
            await reader.read()
        elif fault == "garbage":
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        elif fault == "html":
            writer.write(head(200, 9, content_type="text/html") + b"<p>Hi</p>")
        elif fault == "invalid JSON":
            writer.write(head(status, len(answer)) + b"{" * len(answer))
        elif fault == "close in head":
            writer.write(head(status, len(answer))[:30])
        elif fault in ("truncated", "reset in body"):
            writer.write(head(status, len(answer) + 1) + answer)
        elif fault == "drip":
            writer.write(head(status, len(answer)))
            for byte in answer[:20]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        await writer.drain()
        if kind == "reset":
            self.reset(writer)
        return False

    async def stream(
        self, fault: str, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Pass bytes on in both ways, until either side ends or the fault comes."""
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        upstream_writer.write(request)
        try:
            await until_either_ends(copy(reader, upstream_writer), self.pass_on(fault, upstream_reader, writer))
        finally:
            upstream_writer.close()
        return False

    async def pass_on(self, fault: str, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.random.randrange(1, 20_000) if fault != "none" else sys.maxsize
        while data := await upstream.read(min(left, 65536)):
            writer.write(data)
            await writer.drain()
            left -= len(data)
            if left:
                continue
            if fault == "stream stall":
                # Nothing comes any more, and what the client sends is still taken.
                await asyncio.get_running_loop().create_future()
            if fault != "stream drip":
                return self.reset(writer) if fault == "stream reset" else None
            # Not for as long as a token lives.
            for _ in range(100):
                writer.write(await upstream.readexactly(1))
                await writer.drain()
                await asyncio.sleep(0.001)
            left = sys.maxsize

    async def forward(self, request: bytes, body: bytes) -> tuple[int, list[str], bytes]:
        lines = [line for line in request.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        writer.write(b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]) + body)
        answer = await reader.read()
        writer.close()
        top, _, content = answer.partition(b"\r\n\r\n")
        challenge = [line.decode() for line in top.split(b"\r\n") if line.lower().startswith(b"www-authenticate:")]
        return int(top.split(b" ")[1]), challenge, content


if __name__ == "__main__":
    asyncio.run(run(Proxy, "A proxy of bad manners.", rate=0.05))
