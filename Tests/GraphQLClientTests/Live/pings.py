"""A server of subscriptions that pings its client and then falls silent, made of Python's websockets, speaking
graphql-transport-ws.

It waits until a connection has as many subscriptions as `python pings.py SUBSCRIPTIONS PINGS` says. Then it sends each
of them a value, and behind those a ping of WebSocket and one of graphql-transport-ws, waits for both pongs, and begins
again, PINGS times in all. Then it prints the longest wait for each kind, in seconds, as one line of JSON, and neither
sends nor reads anything more on that connection. When there is another one, it prints how many seconds later.

It listens on a port that it prints as JSON in its first line, and ends when its input does.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import suppress

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


def say(**line):
    print(json.dumps(line), flush=True)


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.ids = []
        self.pongs = asyncio.Queue()

    async def send(self, **message):
        await self.connection.send(json.dumps(message))

    async def take(self):
        message = json.loads(await self.connection.recv())
        match message["type"]:
            case "connection_init":
                await self.send(type="connection_ack")
            case "ping":
                await self.send(type="pong")
            case "pong":
                self.pongs.put_nowait(time.monotonic())
            case "subscribe":
                self.ids.append(message["id"])

    async def read(self):
        with suppress(ConnectionClosed):
            while True:
                await self.take()

    async def run(self, subscriptions, pings):
        while len(self.ids) < subscriptions:
            await self.take()
        reading = asyncio.create_task(self.read())
        longest = {"socket": 0.0, "protocol": 0.0}
        for number in range(pings):
            for id in self.ids:
                await self.send(type="next", id=id, payload={"data": {"countdown": pings - number}})
            start = time.monotonic()
            pong = await self.connection.ping()
            await self.send(type="ping")
            async with asyncio.timeout(30):
                await pong
                longest["socket"] = max(longest["socket"], time.monotonic() - start)
                longest["protocol"] = max(longest["protocol"], await self.pongs.get() - start)
        reading.cancel()
        say(**longest)


async def main():
    subscriptions, pings = (int(argument) for argument in sys.argv[1:])
    silent_since = None

    async def handle(connection):
        nonlocal silent_since
        if silent_since:
            say(again=time.monotonic() - silent_since)
            return await Client(connection).read()
        await Client(connection).run(subscriptions, pings)
        silent_since = time.monotonic()
        connection.transport.pause_reading()
        await asyncio.sleep(3600)

    async with serve(handle, "127.0.0.1", 0, subprotocols=["graphql-transport-ws"], ping_interval=None) as server:
        say(port=server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        server.close(close_connections=False)
        os._exit(0)


asyncio.run(main())
