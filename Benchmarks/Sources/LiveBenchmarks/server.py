"""A server of subscriptions made of Python's websockets, speaking graphql-transport-ws: `server.py` prints its port.

It sends each subscription one value, which is when its connection was made, in seconds of the monotonic clock. A line
`cut` in its input makes it abort all connections; it ends when its input does.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import suppress

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def handle(connection):
    value = json.dumps({"data": {"connectedAt": time.monotonic()}})
    with suppress(ConnectionClosed):
        async for text in connection:
            message = json.loads(text)
            match message["type"]:
                case "connection_init":
                    await connection.send('{"type":"connection_ack"}')
                case "ping":
                    await connection.send('{"type":"pong"}')
                case "subscribe":
                    await connection.send('{"id":"%s","type":"next","payload":%s}' % (message["id"], value))


async def main():
    options = dict(subprotocols=["graphql-transport-ws"], compression=None, ping_interval=None)
    async with serve(handle, "127.0.0.1", 0, **options) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        while await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
            for connection in server.connections:
                connection.transport.abort()
        os._exit(0)


asyncio.run(main())
