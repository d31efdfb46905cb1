"""A crowd of servers on one port: answers requests for any host, and falls silent where it is asked to.

`python crowd.py` listens on a free port of 127.0.0.1 and prints {"port": 54321} as its first line. It answers every
request with the request's host and status 200, or 401 if the host is called `tokens`. A connection on which `/silent`
was requested is answered once, and then never again, although it stays open. It stops when its standard input closes;
then it prints as JSON how many hosts and connections it has seen.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress


class Crowd:
    def __init__(self) -> None:
        self.hosts: set[bytes] = set()
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            while await self.exchange(reader, writer):
                pass
        writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Carry one request out; whether the connection can carry another one."""
        request = await reader.readuntil(b"\r\n\r\n")
        lines = request.split(b"\r\n")
        host = next(line[5:].strip() for line in lines if line.lower().startswith(b"host:"))
        self.hosts.add(host)
        status = b"401 Unauthorized" if host.startswith(b"tokens") else b"200 OK"
        head = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (status, len(host))
        writer.write(head + host)
        await writer.drain()
        if lines[0].split(b" ")[1] != b"/silent":
            return True
        await reader.read()
        while await reader.read(65536):
            pass
        return False


async def main() -> None:
    crowd = Crowd()
    server = await asyncio.start_server(crowd.serve, "127.0.0.1", 0, backlog=4096)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps({"hosts": len(crowd.hosts), "connections": crowd.connections}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
