"""An HTTP/2 server made of Python's h2, for tests of the client. The path says what it does:

/echo                       sends the body back, as it comes
/size?count=N               sends N bytes
/steps?count=N&size=S       sends N pieces of S bytes, each after 10 ms
/events?count=N             sends N events, one each 10 ms (text/event-stream)
/multipart?count=N          sends N parts in the same way (multipart/mixed)
/status?code=C              responds with that status, before the body has come
/interim                    sends 103 (Early Hints) before its response
/trailers                   sends trailers behind its body
/hang                       never responds
/reset?code=C               resets the stream with that code
/half?code=C                sends half of a body, and resets the stream
/refuse?key=K&count=N       refuses the first N requests with this key (REFUSED_STREAM)
/goaway?key=K&code=C        the first time with this key: closes the connection to this stream and later ones (GOAWAY), with
                            that code, 0 by default, and ends it once the others are done
/drain                      responds, and says that the connection takes no more
/cut                        closes the connection at once
/websocket                  is a WebSocket (RFC 8441), whose first message has the fields of the request, as JSON, and which
                            sends others back; in HTTP/1.1, too. In HTTP/2 alone, ?status=C refuses it with that status,
                            ?before=C resets its stream in the place of a response, ?after=C once it has got a message,
                            ?goaway does as above, and ?hang never responds
/counts                     the counts, as JSON: connections, streams, resets by the client, ends of its side of a WebSocket,
                            pings, and connections that the client has said it ends

It listens on a port, with TLS if it gets the files of a certificate and a key, and otherwise in clear text. It prints the
port as JSON, and ends when its input does. Its limits are those that the command line has: --streams, --window,
--head. With --no-connect, it does not say that it takes WebSockets.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import ssl
import sys
import urllib.parse
from collections import Counter

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings

counts = Counter()
seen = Counter()


class WebSocket:
    """The server's side of a WebSocket, whatever carries its bytes: it sends messages back."""

    def __init__(self, write, fields):
        self.write, self.buffer = write, b""
        self.send(0x81, json.dumps(fields).encode())

    def send(self, first, payload):
        size = len(payload)
        if size < 126:
            length = bytes([size])
        elif size < 1 << 16:
            length = b"\x7e" + size.to_bytes(2, "big")
        else:
            length = b"\x7f" + size.to_bytes(8, "big")
        self.write(bytes([first]) + length + payload)

    def receive(self, data):
        """Returns whether the client has closed it."""
        self.buffer += data
        while len(self.buffer) >= 2:
            size, start = self.buffer[1] & 0x7F, 2
            if size > 125:
                start = 4 if size == 126 else 10
                size = int.from_bytes(self.buffer[2:start], "big")
            end = start + 4 + size
            if len(self.buffer) < end:
                break
            first, key, payload = self.buffer[0], self.buffer[start : start + 4], self.buffer[start + 4 : end]
            self.buffer = self.buffer[end:]
            payload = bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))
            if first & 0xF != 0xA:
                self.send(0x8A if first & 0xF == 9 else first, payload)
            if first & 0xF == 8:
                return True
        return False


class Connection(asyncio.Protocol):
    def __init__(self, streams, window, head, takesConnect):
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: streams,
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
                h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: head,
                **({h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL: 1} if takesConnect else {}),
            },
        )
        self.bodies = {}
        self.ended = {}
        self.tasks = {}
        self.room = asyncio.Event()
        self.isDraining = False
        self.head1, self.webSocket = b"", None

    def connection_made(self, transport):
        self.transport = transport
        counts["connections"] += 1
        # Sent once the client has begun, maybe in HTTP/1.1.
        self.h2.initiate_connection()

    def connection_lost(self, error):
        for task in self.tasks.values():
            task.cancel()

    def flush(self):
        if data := self.h2.data_to_send():
            self.transport.write(data)

    def receive_http1(self, data):
        if not self.webSocket:
            self.head1 += data
            if b"\r\n\r\n" not in self.head1:
                return
            head, _, data = self.head1.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
            key = next(line[19:] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key: "))
            accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            self.transport.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
            )
            self.webSocket = WebSocket(self.transport.write, fields)
        if self.webSocket.receive(data):
            self.transport.close()

    def data_received(self, data):
        if self.head1 or data.startswith(b"GET "):
            return self.receive_http1(data)
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            print(f"the client broke the protocol: {error!r}", file=sys.stderr, flush=True)
            counts["errors"] += 1
            self.flush()
            return self.transport.close()
        for event in events:
            self.receive(event)
        self.flush()
        self.room.set()
        self.room = asyncio.Event()

    def receive(self, event):
        match event:
            case h2.events.RequestReceived():
                counts["streams"] += 1
                stream = event.stream_id
                self.bodies[stream] = asyncio.Queue()
                task = asyncio.get_running_loop().create_task(self.respond(stream, dict(event.headers)))
                self.tasks[stream] = task
                task.add_done_callback(lambda _: self.finish(stream))
            case h2.events.DataReceived():
                # At once: the connection's window is for all, and not every path reads its body.
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self.bodies:
                    self.bodies[event.stream_id].put_nowait(event.data)
            case h2.events.StreamEnded():
                if event.stream_id in self.bodies:
                    self.bodies[event.stream_id].put_nowait(None)
            case h2.events.StreamReset():
                counts["resets"] += 1
                if task := self.tasks.get(event.stream_id):
                    task.cancel()
            case h2.events.PingReceived():
                counts["pings"] += 1
            case h2.events.ConnectionTerminated():
                counts["goodbyes"] += 1

    def finish(self, stream):
        self.tasks.pop(stream, None)
        self.bodies.pop(stream, None)
        if self.isDraining and not self.tasks:
            self.flush()
            # To close with bytes unread would reset the connection, and the client would lose what it has yet to read. This
            # way, it closes once the client has ended it, too.
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()

    def head(self, stream, status=200, end=False, **fields):
        self.h2.send_headers(stream, [(":status", str(status)), *fields.items()], end_stream=end)
        self.flush()

    async def send(self, stream, data, end=False):
        position = 0
        while position < len(data) or (end and not data):
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room <= 0 and data:
                await self.room.wait()
                continue
            piece = data[position : position + room]
            position += len(piece)
            self.h2.send_data(stream, piece, end_stream=end and position == len(data))
            self.flush()
            if not data:
                return
            await asyncio.sleep(0)

    async def respond(self, stream, headers):
        try:
            await self.answer(stream, headers)
        except (h2.exceptions.StreamClosedError, h2.exceptions.ProtocolError):
            pass

    async def body(self, stream):
        while (data := await self.bodies[stream].get()) is not None:
            yield data

    async def webSocketAnswer(self, stream, headers, query):
        if "before" in query:
            self.h2.reset_stream(stream, int(query["before"]))
            return self.flush()
        if "goaway" in query:
            self.isDraining = True
            return self.transport.write(goaway(stream - 2))
        if "hang" in query:
            await asyncio.sleep(3600)
        if "status" in query:
            self.head(stream, int(query["status"]))
            return await self.send(stream, b"no WebSocket here", end=True)
        protocols = headers.get("sec-websocket-protocol")
        self.head(stream, **({"sec-websocket-protocol": protocols.split(", ")[0]} if protocols else {}))
        output = []
        webSocket = WebSocket(output.append, headers)
        isClosed = False
        await self.send(stream, output.pop())
        async for data in self.body(stream):
            isClosed = isClosed or webSocket.receive(data)
            if output:
                await self.send(stream, b"".join(output), end=isClosed)
                output.clear()
            if "after" in query:
                self.h2.reset_stream(stream, int(query["after"]))
                return self.flush()
        counts["ends"] += 1

    async def answer(self, stream, headers):
        parts = urllib.parse.urlsplit(headers[":path"])
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        count = int(query.get("count", "1"))
        code = int(query.get("code", "0"))
        match parts.path:
            case "/echo":
                self.head(stream, **{"content-type": headers.get("content-type", "text/plain")})
                async for data in self.body(stream):
                    await self.send(stream, data)
                await self.send(stream, b"", end=True)
            case "/size":
                self.head(stream, **{"content-length": str(count)})
                await self.send(stream, b"0123456789" * (count // 10) + b"x" * (count % 10), end=True)
            case "/steps":
                # What is not JSON is read as it arrives, and takes no place of requests.
                self.head(stream, **{"content-type": "application/json"})
                for number in range(count):
                    await self.send(stream, b"x" * int(query["size"]), end=number == count - 1)
                    await asyncio.sleep(0.01)
            case "/events":
                self.head(stream, **{"content-type": "text/event-stream"})
                for number in range(count):
                    await self.send(stream, f"data: {number}\n\n".encode())
                    await asyncio.sleep(0.01)
                await self.send(stream, b"", end=True)
            case "/multipart":
                self.head(stream, **{"content-type": 'multipart/mixed; boundary="-"'})
                for number in range(count):
                    part = f'{{"number":{number}}}'
                    await self.send(stream, f"\r\n---\r\ncontent-type: application/json\r\n\r\n{part}".encode())
                    await asyncio.sleep(0.01)
                await self.send(stream, b"\r\n-----\r\n", end=True)
            case "/status":
                self.head(stream, code)
                await self.send(stream, b"early", end=True)
            case "/interim":
                self.h2.send_headers(stream, [(":status", "103"), ("link", "</style.css>")])
                self.head(stream)
                await self.send(stream, b"final", end=True)
            case "/trailers":
                self.head(stream)
                await self.send(stream, b"body")
                self.h2.send_headers(stream, [("checksum", "abc")], end_stream=True)
                self.flush()
            case "/hang":
                await asyncio.sleep(3600)
            case "/reset":
                self.h2.reset_stream(stream, code)
                self.flush()
            case "/half":
                self.head(stream, **{"content-length": "10"})
                await self.send(stream, b"01234")
                self.h2.reset_stream(stream, code)
                self.flush()
            case "/refuse":
                seen[query["key"]] += 1
                if seen[query["key"]] <= count:
                    self.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
                    return self.flush()
                self.head(stream)
                await self.send(stream, str(seen[query["key"]]).encode(), end=True)
            case "/goaway":
                seen[query["key"]] += 1
                if seen[query["key"]] == 1:
                    self.isDraining = True
                    self.transport.write(goaway(stream - 2, int(query.get("code", 0))))
                    return
                self.head(stream)
                await self.send(stream, b"again", end=True)
            case "/drain":
                self.head(stream)
                await self.send(stream, b"last", end=True)
                self.isDraining = True
                self.transport.write(goaway(stream))
            case "/cut":
                self.transport.abort()
            case "/websocket":
                await self.webSocketAnswer(stream, headers, query)
            case "/counts":
                self.head(stream)
                await self.send(stream, json.dumps(counts).encode(), end=True)


def goaway(last, code=0):
    """A GOAWAY frame: h2 would take it for the end of the connection."""
    return bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]) + max(last, 0).to_bytes(4, "big") + code.to_bytes(4, "big")


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--window", type=int, default=65535)
    parser.add_argument("--head", type=int, default=65536)
    parser.add_argument("--no-connect", action="store_true")
    options = parser.parse_args()
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
        context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(options.streams, options.window, options.head, not options.no_connect),
        "127.0.0.1",
        0,
        ssl=context,
        backlog=512,
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
