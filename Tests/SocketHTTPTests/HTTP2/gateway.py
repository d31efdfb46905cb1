"""A gateway from HTTP/2 to servers that speak HTTP/1.1, made of Python's h2: the authority of a request is where it goes.

It passes on what it gets, valid or not, so that tests of transports with a server in HTTP/1.1 are tests in HTTP/2, too: a
response that is cut resets its stream, and one that is not HTTP becomes one that is malformed. Its connections to a server
are kept, and used one request after the other. It answers OPTIONS itself, and makes an upgrade of a CONNECT to WebSocket.

Usage: gateway.py SOCKET [CERTIFICATE KEY]

It listens on a Unix domain socket, with TLS if it gets the files of a certificate and a key; prints a line once it does, and
ends when its input does.
"""

import asyncio
import base64
import os
import ssl
import sys
from collections import defaultdict

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

LARGEST_HEAD = 80 << 10


class Malformed(Exception):
    pass


class Cut(Exception):
    pass


class Upstream:
    """A connection to a server."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.buffer = reader, writer, b""
        self.isReusable = False

    async def more(self):
        try:
            piece = await self.reader.read(1 << 16)
        except ConnectionError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    async def line(self, most=LARGEST_HEAD):
        while b"\n" not in self.buffer:
            if len(self.buffer) > most:
                line, self.buffer = self.buffer, b""
                return line
            if not await self.more():
                raise Cut
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.removesuffix(b"\r")

    async def head(self):
        """The status and the fields."""
        while len(self.buffer) < 5 and await self.more():
            pass
        if self.buffer[:5] != b"HTTP/"[: len(self.buffer)]:
            raise Malformed
        words = (await self.line()).split(b" ", 2)
        if len(words) < 2 or not words[1].isdigit():
            raise Malformed
        fields, size = [], 0
        while size < LARGEST_HEAD and (line := await self.line()):
            name, _, value = line.partition(b":")
            fields.append((name.lower(), value.strip(b" \t")))
            size += len(line)
        return words[1], fields

    async def exactly(self, count):
        """Pieces that make up so many bytes."""
        while count > 0:
            if not self.buffer and not await self.more():
                raise Cut
            piece, self.buffer = self.buffer[:count], self.buffer[count:]
            count -= len(piece)
            yield piece

    async def chunks(self, trailers):
        while True:
            text = (await self.line()).split(b";")[0].strip()
            try:
                size = int(text, 16)
            except ValueError:
                raise Malformed from None
            if size == 0:
                break
            async for piece in self.exactly(size):
                yield piece
            if await self.line():
                raise Malformed
        while line := await self.line():
            name, _, value = line.partition(b":")
            trailers.append((name.lower(), value.strip(b" \t")))

    async def rest(self):
        while True:
            if self.buffer:
                piece, self.buffer = self.buffer, b""
                yield piece
            if not await self.more():
                return


class Connection(asyncio.Protocol):
    idle = defaultdict(list)

    def __init__(self):
        configuration = h2.config.H2Configuration(
            client_side=False, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.h2 = h2.connection.H2Connection(configuration)
        settings = {h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL: 1}
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=settings)
        self.bodies, self.tasks, self.room = {}, {}, asyncio.Event()

    def connection_made(self, transport):
        self.transport = transport
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        for task in self.tasks.values():
            task.cancel()

    def flush(self):
        if data := self.h2.data_to_send():
            self.transport.write(data)

    def data_received(self, data):
        for event in self.h2.receive_data(data):
            match event:
                case h2.events.RequestReceived():
                    stream = event.stream_id
                    self.bodies[stream] = asyncio.Queue()
                    task = asyncio.get_running_loop().create_task(self.exchange(stream, event.headers))
                    self.tasks[stream] = task
                    task.add_done_callback(lambda _, stream=stream: self.tasks.pop(stream))
                case h2.events.DataReceived():
                    self.bodies[event.stream_id].put_nowait((event.data, event.flow_controlled_length))
                case h2.events.StreamEnded():
                    self.bodies[event.stream_id].put_nowait(None)
                case h2.events.StreamReset() if event.stream_id in self.tasks:
                    self.tasks[event.stream_id].cancel()
        self.flush()
        self.room.set()
        self.room = asyncio.Event()

    async def exchange(self, stream, headers):
        if dict(headers)[b":method"] == b"OPTIONS":
            self.h2.send_headers(stream, [(b":status", b"204")], end_stream=True)
            return self.flush()
        if dict(headers).get(b":protocol") == b"websocket":
            return await self.tunnel(stream, headers)
        host, port = dict(headers)[b":authority"].decode().split(":")
        kept = self.idle[host, port]
        upstream = None
        while kept and (not upstream or upstream.reader.at_eof()):
            upstream = kept.pop()
        if not upstream or upstream.reader.at_eof():
            upstream = Upstream(*await asyncio.open_connection(host, port))
        upload = asyncio.get_running_loop().create_task(self.send_request(upstream, stream, headers))
        try:
            await self.pass_response(upstream, stream, dict(headers)[b":method"] == b"HEAD")
            if upstream.isReusable and upload.done() and not upstream.buffer:
                kept.append(upstream)
                upstream = None
        except Cut:
            self.h2.reset_stream(stream, 2)
        except Malformed:
            self.h2.send_headers(stream, [(b":status", b"none")], end_stream=True)
        except (h2.exceptions.ProtocolError, ConnectionError):
            pass
        finally:
            upload.cancel()
            if upstream:
                upstream.writer.transport.abort()
            self.flush()

    async def tunnel(self, stream, headers):
        host, port = dict(headers)[b":authority"].decode().split(":")
        upstream = Upstream(*await asyncio.open_connection(host, port))
        upload = None
        try:
            fields = [(b"host", dict(headers)[b":authority"]), (b"upgrade", b"websocket"), (b"connection", b"upgrade")]
            fields += [(b"sec-websocket-key", base64.b64encode(os.urandom(16)))]
            fields += [(name, value) for name, value in headers if not name.startswith(b":")]
            lines = [b"GET " + dict(headers)[b":path"] + b" HTTP/1.1"] + [n + b": " + v for n, v in fields]
            upstream.writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
            status, fields = await upstream.head()
            ofUpgrade = (b"connection", b"upgrade", b"sec-websocket-accept")
            passed = [(name, value) for name, value in fields if name not in ofUpgrade]
            self.h2.send_headers(stream, [(b":status", b"200" if status == b"101" else status), *passed])
            self.flush()
            if status == b"101":
                upload = asyncio.get_running_loop().create_task(self.pass_up(upstream, stream))
                pieces = upstream.rest()
            else:
                pieces = upstream.exactly(int(dict(fields).get(b"content-length", b"0")))
            async for piece in pieces:
                await self.send(stream, piece)
            self.h2.end_stream(stream)
            self.flush()
            if upload:
                await upload
        except (Cut, ConnectionError):
            self.h2.reset_stream(stream, 2)
        except h2.exceptions.ProtocolError:
            pass
        finally:
            if upload:
                upload.cancel()
            upstream.writer.transport.abort()
            self.flush()

    async def pass_up(self, upstream, stream):
        while (piece := await self.bodies[stream].get()) is not None:
            data, length = piece
            upstream.writer.write(data)
            await upstream.writer.drain()
            self.h2.acknowledge_received_data(length, stream)
            self.flush()
        upstream.writer.write_eof()

    async def send_request(self, upstream, stream, headers):
        pseudo = {name: value for name, value in headers if name.startswith(b":")}
        fields = [(name, value) for name, value in headers if not name.startswith(b":")]
        isChunked = pseudo[b":method"] == b"POST" and b"content-length" not in dict(fields)
        fields = [(b"host", pseudo[b":authority"])] + fields + [(b"transfer-encoding", b"chunked")] * isChunked
        lines = [pseudo[b":method"] + b" " + pseudo[b":path"] + b" HTTP/1.1"] + [n + b": " + v for n, v in fields]
        upstream.writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
        while (piece := await self.bodies[stream].get()) is not None:
            data, length = piece
            upstream.writer.write(b"%x\r\n%s\r\n" % (len(data), data) if isChunked else data)
            await upstream.writer.drain()
            self.h2.acknowledge_received_data(length, stream)
            self.flush()
        if isChunked:
            upstream.writer.write(b"0\r\n\r\n")

    async def pass_response(self, upstream, stream, isHead):
        while True:
            status, fields = await upstream.head()
            if not status.startswith(b"1") or status == b"101":
                break
            self.h2.send_headers(stream, [(b":status", status), *fields])
            self.flush()
            await asyncio.sleep(0)
        names = dict(fields)
        isChunked = names.get(b"transfer-encoding") == b"chunked" and b"content-length" not in names
        ofConnection = {b"connection", b"keep-alive"} | ({b"transfer-encoding"} if isChunked else set())
        isEmpty = isHead or status in (b"204", b"304")
        passed = [(name, value) for name, value in fields if name not in ofConnection]
        self.h2.send_headers(stream, [(b":status", status), *passed], end_stream=isEmpty)
        self.flush()
        upstream.isReusable = names.get(b"connection") != b"close"
        if isEmpty:
            return
        trailers = []
        if isChunked:
            pieces = upstream.chunks(trailers)
        elif names.get(b"content-length", b"").isdigit():
            pieces = upstream.exactly(int(names[b"content-length"]))
        else:
            pieces, upstream.isReusable = upstream.rest(), False
        async for piece in pieces:
            await self.send(stream, piece)
        if trailers:
            self.h2.send_headers(stream, trailers, end_stream=True)
        else:
            self.h2.end_stream(stream)

    async def send(self, stream, data):
        while data:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room <= 0:
                await self.room.wait()
                continue
            self.h2.send_data(stream, data[:room])
            data = data[room:]
            self.flush()
            await asyncio.sleep(0)


async def main():
    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[2:])
        context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    await loop.create_unix_server(Connection, sys.argv[1], ssl=context, backlog=512)
    print("listens", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
