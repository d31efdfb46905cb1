import Foundation
import HTTP
import LoopbackServers
import Streams

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
      for fault in [ScriptedServer.Fault.neverAnswering, .neverFinishing, .endlessBody] {
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
      let server = try ScriptedServer(.endlessBody)
      try expect(try await transport.send(server.request()).take(3).elements().count, equals: 3, "The number of parts")
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
