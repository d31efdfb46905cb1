"""A WebSocket server made of Python's websockets, for tests of the client. The path says what it does:

/echo                                  sends every message back
/push?count=N&size=S                   sends N texts of S characters, and closes
/fragments?count=N                     sends one text in N fragments, with a ping in the middle, and closes
/ping?count=N                          sends N pings, waits for each pong, and then sends the longest wait in seconds
/close?code=C&reason=R                 closes
/refuse?status=S                       answers the upgrade with that status

It listens on a port and at a path that it prints as JSON, and ends when its input does.
"""

import asyncio
import http
import json
import os
import sys
import tempfile
import time
import urllib.parse

from websockets.asyncio.server import serve, unix_serve


async def handle(connection):
    parts = urllib.parse.urlsplit(connection.request.path)
    query = dict(urllib.parse.parse_qsl(parts.query))
    count = int(query.get("count", "1"))
    match parts.path:
        case "/echo":
            async for message in connection:
                await connection.send(message)
        case "/push":
            text = ("0123456789" * (int(query["size"]) // 10 + 1))[: int(query["size"])]
            for _ in range(count):
                await connection.send(text)
        case "/fragments":

            async def pieces():
                for number in range(count):
                    if number == count // 2:
                        await connection.ping(b"between")
                    yield f"ångström {number} "

            await connection.send(pieces())
        case "/ping":
            longest = 0.0
            for number in range(count):
                start = time.monotonic()
                await (await connection.ping(str(number)))
                longest = max(longest, time.monotonic() - start)
            await connection.send(json.dumps(longest))
        case "/close":
            await connection.close(int(query["code"]), query.get("reason", ""))


def refuse(connection, request):
    parts = urllib.parse.urlsplit(request.path)
    if parts.path != "/refuse":
        return None
    status = int(dict(urllib.parse.parse_qsl(parts.query))["status"])
    response = connection.respond(http.HTTPStatus(status), "not now\n")
    response.headers["Retry-After"] = "3"
    return response


def choose(connection, offered):
    return offered[-1] if offered else None


async def main():
    path = os.path.join(tempfile.mkdtemp(), "socket")
    options = dict(process_request=refuse, select_subprotocol=choose, max_size=None)
    async with serve(handle, "127.0.0.1", 0, **options) as server, unix_serve(handle, path, **options):
        port = server.sockets[0].getsockname()[1]
        print(json.dumps({"port": port, "path": path}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
