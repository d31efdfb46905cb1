"""A line to a backend that lets no subscription pass: `python plain_line.py PORT` prints its own port, and ends with its
standard input.
"""

import asyncio
import sys
from contextlib import suppress

# By a WebSocket, or by a request.
REFUSED = (b"Sec-WebSocket-Key", b"subscription momentLiked")


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            if any(word in data for word in REFUSED):
                break
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        backend_reader, backend_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        await asyncio.gather(copy(reader, backend_writer), copy(backend_reader, writer))
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
