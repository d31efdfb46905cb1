import Dispatch
import HTTPClientCore
import LoopbackServers
import Streams
import SystemBase

extension TransportConformance {
  /// Requests and responses as a whole.
  static let messages: [Case] = [
    Case("a request arrives as it was made, and the response as it was sent") { transport in
      let server = try ScriptedServer(
        .answering { _ in RawResponse(201, headers: [("X-Answer", "a b")], body: #"{"名":"王"}"#) })
      let headers: HTTPHeaders = ["X-Name": "value", "x-two": "2"]
      let response = try await transport.response(to: server.request(path: "a/b", query: "1", headers: headers))
      try expect(response.head.status, equals: 201, "The status")
      try expect(response.head.headers["x-answer"], equals: "a b", "A header")
      try expect(String(decoding: response.body, as: UTF8.self), equals: #"{"名":"王"}"#, "The body")
      let received = server.requests.first
      try expect(received?.method, equals: "POST", "The method")
      try expect(received?.target, equals: "/a/b?q=1", "The target")
      try expect(received?["host"], equals: "127.0.0.1:\(server.port)", "Host")
      try expect(received?["x-name"], equals: "value", "A header")
      try expect(received?["x-two"], equals: "2", "A header")
      try expect(received?.body, equals: [UInt8]("{}".utf8), "The body")
    },
    Case("a field may hold a tab") { transport in
      let server = try ScriptedServer(.answering { _ in RawResponse(headers: [("X-Answer", "a\tb")]) })
      let value = try await transport.response(to: server.request()).head.headers["X-Answer"]
      try expect(value?.replacing("\t", with: " "), equals: "a b", "A header")
    },
    Case("a content coding does not matter where there is no body") { transport in
      for status in [204, 304] {
        let server = try ScriptedServer([
          .readRequest, .send("HTTP/1.1 \(status) No Body\r\nContent-Encoding: gzip\r\n\r\n"), .close,
        ])
        try expect(try await transport.response(to: server.request()).head.status, equals: status, "The status")
      }
    },
    Case("bodies of 4 MiB arrive whole, in both directions") { transport in
      let server = try ScriptedServer(.answering { RawResponse(body: $0.body) })
      let body = Data((0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 / 999) })
      let response = try await transport.response(to: server.request(body: body), upTo: 4 << 20)
      try expect(response.body == body, "The body came back changed.")
    },
    Case("a body in chunks, with trailers, in any pieces, is put together") { transport in
      let response = RawResponse(body: String(repeating: "0123456789", count: 10))
      let bytes = response.chunked(size: 7, trailers: [("Expires", "never")])
      for offset in stride(from: 1, to: bytes.count, by: 11) {
        let server = try ScriptedServer([.readRequest, .send(bytes, splitAt: [offset]), .close])
        try expect(
          try await transport.response(to: server.request()).body, equals: Data(response.body), "The body")
      }
    },
    Case("trailers come once, behind the body, and in no place of the head, if the transport gives them") { transport in
      let response = RawResponse(headers: [("X-Answer", "head")], body: "0123456789")
      let trailers = [("X-Answer", "trailers"), ("Grpc-Status", "0")]
      let server = try ScriptedServer([.readRequest, .send(response.chunked(size: 4, trailers: trailers)), .close])
      let parts = Monitor<[HTTPResponsePart]>([])
      let isOver = Latch()
      let subscription = try transport.send(server.request()).subscribe(
        onNext: { part in parts.update { $0.append(part) } }, onError: { _ in isOver.open() },
        onCompleted: { isOver.open() })
      defer { subscription.dispose() }
      try await isOver.wait()
      for (index, part) in parts.value.enumerated() {
        switch part {
        case .head(let head): try expect(head.headers.values(of: "X-Answer"), equals: ["head"], "A header")
        case .body: break
        case .trailers(let fields):
          try expect(index, equals: parts.value.count - 1, "The place of the trailers")
          try expect(fields.map(\.value), equals: ["trailers", "0"], "The list of trailers")
          try expect(fields["grpc-status"], equals: "0", "A trailer")
        }
      }
      try expect(parts.value.bodySize, equals: 10, "The size of the body")
    },
    Case("a hundred requests at once get their own responses") { transport in
      let server = try ScriptedServer(.answering { RawResponse(body: $0.target) })
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask {
            let response = try await transport.response(to: server.request(path: "\(number)"))
            try expect(response.body, equals: Data("/\(number)".utf8), "The body")
          }
        }
        try await group.waitForAll()
      }
    },
    Case("progress grows to the sizes of both bodies, and never goes back") { transport in
      let (size, gate, half) = (32 << 20, Latch(), Latch())
      let server = try ScriptedServer([
        .wait(for: gate), .readRequest, .send(RawResponse().bytes(contentLength: 20)), .send("0123456789"),
        .wait(for: half), .send("0123456789"), .close,
      ])
      let reports = Monitor<[HTTPProgress]>([])
      var request = try server.request(body: Data(count: size))
      request.onProgress = { progress in reports.update { $0.append(progress) } }
      async let response = transport.response(to: request)
      // The body is more than the sockets take.
      try await reports.wait(for: "a part of the body that is sent", within: .seconds(10)) {
        $0.contains { 0 < $0.sent && $0.sent < size }
      }
      gate.open()
      try await reports.wait(for: "half of the response", within: .seconds(10)) { $0.last?.received == 10 }
      half.open()
      _ = try await response
      try await reports.wait(for: "the whole response", within: .seconds(10)) { $0.last?.received == 20 }
      let all = reports.value
      var last = HTTPProgress(totalToSend: size)
      (last.sent, last.received, last.totalToReceive) = (size, 20, 20)
      try expect(all.last, equals: last, "The last progress")
      try expect(
        zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received },
        "The progress goes back: \(all)")
    },
    Case("progress of a request that is sent again neither goes back nor beyond the end") { transport in
      let server = try ScriptedServer(
        [.readRequest, .send(RawResponse(body: "{}")), .readRequest, .close], .answering { _ in RawResponse(201) })
      _ = try await transport.response(to: server.request())
      let sizes = Monitor<[Int]>([])
      var request = try server.request(body: Data(count: 1 << 20), isReplayable: true)
      request.onProgress = { progress in sizes.update { $0.append(progress.sent) } }
      // Whether it is sent again is another case's.
      _ = try? await transport.response(to: request)
      try await sizes.wait(for: "the whole body", within: .seconds(10)) { $0.last ?? 0 >= 1 << 20 }
      try expect(sizes.value == sizes.value.sorted() && sizes.value.last == 1 << 20, "What was sent is \(sizes.value).")
    },
    Case("the response to HEAD has no body, whatever its head says") { transport in
      let server = try ScriptedServer([
        .forever([.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n")])
      ])
      for _ in 0..<2 {
        try expect(try await transport.response(to: server.request(.head)).body, equals: Data(), "The body")
      }
    },
    Case("T1: a header that frames the message is refused before anything is sent") { transport in
      let server = try ScriptedServer(.answering { _ in RawResponse() })
      for name in ["Content-Length", "transfer-encoding", "Connection"] {
        let headers = HTTPHeaders([try HTTPField(name: name, value: "1")])
        try await transport.expectFailure(.invalidRequest, of: server.request(headers: headers))
      }
      try expect(server.log.value.connections.allSatisfy { $0.bytesReceived == 0 }, "The server received bytes.")
    },
    Case("T2: a redirect is given as it is, and the other server sees nothing") { transport in
      let other = try ScriptedServer(.answering { _ in RawResponse() })
      for status in [301, 302, 303, 307, 308] {
        let server = try ScriptedServer(
          .answering { [url = other.url] _ in RawResponse(status, headers: [("Location", url.absoluteString)]) })
        try expect(try await transport.response(to: server.request()).head.status, equals: status, "The status")
      }
      try expect(other.log.value.connections.isEmpty, "The other server got a request.")
    },
    Case("T5: requests that differ in their query alone both arrive, and cookies are not sent back") { transport in
      let server = try ScriptedServer(
        .answering { _ in
          RawResponse(headers: [("Set-Cookie", "a=b"), ("Cache-Control", "max-age=1000")], body: "{}")
        })
      for query in ["A", "B", "A"] { _ = try await transport.response(to: server.request(.get, query: query)) }
      try expect(server.requests.map(\.target), equals: ["/?q=A", "/?q=B", "/?q=A"], "The list of targets")
      try expect(server.requests.allSatisfy { $0["cookie"] == nil }, "A cookie was sent.")
    },
  ]
}

extension TransportConformance {
  /// How the parts of a response are delivered, and how an exchange is stopped.
  static let streams: [Case] = [
    Case("a request is sent once for each subscriber, and not before") { transport in
      let server = try ScriptedServer(.answering { _ in RawResponse() })
      let stream = try transport.send(server.request())
      try expect(server.log.value.connections.isEmpty, "A connection was made before anyone subscribed.")
      for _ in 0..<3 { _ = try await stream.collect(upTo: 100).value }
      try expect(server.requests.count, equals: 3, "The number of requests")
    },
    Case("a response is one head, then pieces that are not empty, as they come") { transport in
      let step = Latch()
      let server = try ScriptedServer([
        .readRequest, .send(RawResponse().bytes(contentLength: 4)), .send("ab"), .wait(for: step), .send("cd"), .close,
      ])
      let parts = Monitor<[HTTPResponsePart]>([])
      let subscription = try transport.send(server.request()).subscribe(onNext: { part in
        parts.update { $0.append(part) }
      })
      defer { subscription.dispose() }
      try await parts.wait { $0.count >= 2 && $0.bodySize == 2 }
      step.open()
      try await parts.wait { $0.bodySize == 4 }
      for (index, part) in parts.value.enumerated() {
        switch part {
        case .head: try expect(index, equals: 0, "The place of a head")
        case .body(let piece): try expect(!piece.isEmpty && index > 0, "A piece is empty, or before the head.")
        case .trailers: try expect(false, "There are trailers that the server has not sent.")
        }
      }
    },
    Case("T3: an endless body is cut off at the limit, and the connection closed") { transport in
      let server = try ScriptedServer(.endlessBody)
      try await transport.expectFailure(.tooLarge, of: server.request())
      try await server.waitForClientToClose()
    },
    Case("T3: a slow observer stops the reading") { transport in
      let server = try ScriptedServer(.endlessBody)
      let (isInside, mayGoOn) = (Latch(), DispatchSemaphore(value: 0))
      let subscription = try transport.send(server.request()).subscribe(
        onNext: { _ in
          isInside.open()
          mayGoOn.wait()
        }, onError: { _ in })
      defer {
        subscription.dispose()
        mayGoOn.signal()
      }
      try await isInside.wait()
      // The system's buffers fill up, and then the count stands still; without back-pressure, it would keep growing.
      var (sent, calm) = (-1, 0)
      while calm < 5 {
        try await Task.sleep(for: .milliseconds(100))
        let now = server.log.value.connections[0].bytesSent
        calm = now == sent ? calm + 1 : 0
        sent = now
        try expect(sent < 64 << 20, "The server was able to send \(sent) bytes to an observer that takes none.")
      }
    },
    Case("T7: disposing stops the exchange within 100 ms") { transport in
      for fault in [ScriptedServer.Fault.neverAnswering, .neverFinishing] { try await expectStop(transport, of: fault) }
    },
    Case("T7: disposing stops a body without end within 100 ms") { transport in
      try await expectStop(transport, of: .endlessBody)
    },
    Case("T7: disposing while connecting, and from within onNext, stops too") { transport in
      let port = try UnansweredPort()
      guard let url = URL(string: "http://127.0.0.1:\(port.port)/") else { return }
      let errors = Monitor<[String]>([])
      for _ in 0..<20 {
        try transport.send(HTTPRequest(method: .get, url: url)).subscribe(onError: { error in
          errors.update { $0.append("\(error)") }
        }).dispose()
      }
      let server = try ScriptedServer(.neverFinishing)
      try expect(try await transport.send(server.request()).take(2).elements().count, equals: 2, "The number of parts")
      try await server.waitForClientToClose()
      try expect(errors.value, equals: [], "The errors after dispose")
    },
    Case("a task that is cancelled at any time ends") { transport in
      let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
      let request = try server.request()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            let task = Task { try await transport.response(to: request) }
            if Bool.random() { try? await Task.sleep(for: .microseconds(Int.random(in: 0..<2000))) }
            task.cancel()
            _ = await task.result
          }
        }
      }
    },
  ]
}

/// Throws unless the server sees its connection close soon after the exchange was disposed of, and the observer nothing.
private func expectStop(_ transport: any HTTPTransport, of fault: ScriptedServer.Fault) async throws {
  try await expectDelay(of: .zero, leeway: .milliseconds(100)) {
    let server = try ScriptedServer(fault)
    let events = Monitor<[String]>([])
    let subscription = try transport.send(server.request()).subscribe(
      onError: { error in events.update { $0.append("\(error)") } },
      onCompleted: { events.update { $0.append("completed") } })
    try await server.waitForRequests()
    let start = ContinuousClock.now
    subscription.dispose()
    let end = try await server.waitForClientToClose()
    try expect(events.value, equals: [], "The events after dispose")
    return end - start
  }
}

extension [HTTPResponsePart] {
  fileprivate var bodySize: Int {
    reduce(0) { size, part in if case .body(let piece) = part { size + piece.count } else { size } }
  }
}

extension Observable {
  fileprivate func elements() async throws -> [Element] {
    var elements: [Element] = []
    for try await element in values(bufferingPolicy: .unbounded) { elements.append(element) }
    return elements
  }
}
