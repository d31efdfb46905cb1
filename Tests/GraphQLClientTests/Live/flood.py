"""A server of subscriptions that sends as fast as its client reads, or faster: a WebSocket with the protocol
graphql-transport-ws, or an event stream.

`python flood.py pings` answers each WebSocket's first subscription with pings of both protocols without end, and
`python flood.py values` with results of a kilobyte. A POST gets an event stream of such results. What the client sends is
read and dropped.

It listens on a port that it prints as JSON in its first line, and ends when its input does.
"""

import asyncio
import base64
import hashlib
import json
import os
import sys
from contextlib import suppress


def frame(opcode, payload):
    size = len(payload)
    head = bytes([0x80 | opcode, size]) if size < 126 else bytes([0x80 | opcode, 126]) + size.to_bytes(2, "big")
    return head + payload


def text(**message):
    return frame(1, json.dumps(message).encode())


RESULT = {"data": {"countdown": 1}, "extensions": {"padding": "x" * 1000}}
EVENT = b"event: next\ndata: " + json.dumps(RESULT).encode() + b"\n\n"


async def receive(reader):
    """The payload of a frame, short enough for its length to stand in two bytes."""
    head = await reader.readexactly(2)
    size = head[1] & 127
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2), "big")
    mask = await reader.readexactly(4)
    return bytes(byte ^ mask[place % 4] for place, byte in enumerate(await reader.readexactly(size)))


async def drop(reader):
    with suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass


async def serve_socket(key, reader, writer, mode):
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )
    await receive(reader)
    writer.write(text(type="connection_ack"))
    message = json.loads(await receive(reader))
    if mode == "pings":
        flood = (frame(9, b"x" * 100) + text(type="ping")) * 200
    else:
        flood = text(type="next", id=message["id"], payload=RESULT) * 50
    dropping = asyncio.create_task(drop(reader))
    while not dropping.done():
        writer.write(flood)
        await writer.drain()
        await asyncio.sleep(0)


async def serve_stream(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    while True:
        writer.write(EVENT * 50)
        await writer.drain()
        await asyncio.sleep(0)


async def main():
    async def handle(reader, writer):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            key = next((value for name, value in fields.items() if name.lower() == b"sec-websocket-key"), None)
            if key:
                await serve_socket(key, reader, writer, sys.argv[1])
            else:
                await serve_stream(writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())
