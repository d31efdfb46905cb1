import Foundation
import HTTPTestSupport
import Streams
import Synchronization
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// On which threads observers are called, and that none of them holds up another.
@Suite(.timeLimit(.minutes(1))) struct SocketTransportDeliveryTests {
  @Test func `a response that a task awaits is read on that task`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let isInside = try await Marker.$isSet.withValue(true) {
      try await SocketTransport().send(.to(server)).map { _ in Marker.isSet }.value
    }
    #expect(isInside)
  }

  @Test func `a closure that blocks for another response gets it`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = SocketTransport()
    let (outer, inner) = (try HTTPRequest.to(server, "outer"), try HTTPRequest.to(server, "inner"))
    let status = try await transport.send(outer).collect(upTo: 9).map { _ in
      let isOver = DispatchSemaphore(value: 0)
      let status = Atomic<Int>(0)
      _ = transport.send(inner).collect(upTo: 9).subscribe(
        onNext: { status.store($0.head.status, ordering: .relaxed) }, onDisposed: { isOver.signal() })
      #expect(isOver.wait(timeout: .now() + 30) == .success)
      return status.load(ordering: .relaxed)
    }.value
    #expect(status == 200)
  }

  @Test func `observers that block delay no others`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = SocketTransport()
    let (gate, blocked) = (DispatchSemaphore(value: 0), DispatchGroup())
    for _ in 0..<4 {
      blocked.enter()
      _ = transport.send(try .to(server)).collect(upTo: 9).subscribe(
        onNext: { _ in gate.wait() }, onError: { Issue.record($0) }, onDisposed: { blocked.leave() })
    }
    let isOver = Latch()
    _ = transport.send(try .to(server)).collect(upTo: 9).subscribe(
      onError: { Issue.record($0) }, onDisposed: { isOver.open() })
    try await isOver.wait(for: "the answer behind those that block", within: .seconds(10))
    for _ in 0..<4 { gate.signal() }
    let areOver = Latch()
    blocked.notify(queue: .global()) { areOver.open() }
    try await areOver.wait(for: "those that blocked", within: .seconds(30))
  }

  @Test func `T6: deadlines and responses come on time while more observers block than Dispatch has threads`()
    async throws
  {
    let (server, silent) = (
      try ScriptedServer(.answering { _ in RawResponse(body: "{}") }), try ScriptedServer(.neverAnswering)
    )
    let transport = SocketTransport()
    let (gate, blocked, left) = (DispatchSemaphore(value: 0), Monitor(0), Monitor(0))
    for _ in 0..<300 {
      _ = transport.send(try .to(server)).collect(upTo: 9).subscribe(
        onNext: { _ in
          blocked.update { $0 += 1 }
          gate.wait()
        }, onDisposed: { left.update { $0 += 1 } })
    }
    defer { for _ in 0..<300 { gate.signal() } }
    try await blocked.wait(for: "all observers to block", within: .seconds(20)) { $0 == 300 }
    for (server, total, delay, kind) in [
      (silent, Duration.milliseconds(300), Duration.milliseconds(300), RequestError.Kind.timedOut),
      (server, .seconds(10), .zero, nil),
    ] {
      try await expectDelay(of: delay) {
        let (isOver, start) = (Latch(), ContinuousClock.now)
        let failure = Mutex<RequestError.Kind?>(nil)
        let request = try HTTPRequest.to(server, timeouts: HTTPTimeouts(total: total))
        _ = transport.send(request).collect(upTo: 9).subscribe(
          onError: { error in failure.withLock { $0 = (error as? RequestError)?.kind } },
          onDisposed: { isOver.open() })
        try await isOver.wait(for: "the end of the request", within: .seconds(10))
        #expect(failure.withLock { $0 } == kind)
        return .now - start
      }
    }
    for _ in 0..<300 { gate.signal() }
    try await left.wait(for: "those that blocked", within: .seconds(30)) { $0 == 300 }
  }

  // Not `async`, as what awaits is held up itself.
  @Test func `names are looked up and observers called though all threads that others share are blocked`() throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let (gate, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // The system adds a thread each second that they are blocked.
    for _ in 0..<60 { DispatchQueue.global().async { gate.wait() } }
    defer { for _ in 0..<60 { gate.signal() } }
    let request = try HTTPRequest(method: .get, url: url("http://localhost:\(server.port)/"))
    let subscription = SocketTransport().send(request).collect(upTo: 9).subscribe(
      onError: { Issue.record($0) }, onDisposed: { isOver.signal() })
    #expect(isOver.wait(timeout: .now() + .seconds(10)) == .success)
    subscription.dispose()
  }

  @Test func `a cancelled task's response is dropped, and the next task gets its own`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let transport = SocketTransport()
    for round in 0..<200 {
      let request = try HTTPRequest.to(server)
      let task = Task { try await transport.response(to: request).head.status }
      if round.isMultiple(of: 3) { await Task.yield() }
      if round.isMultiple(of: 2) { task.cancel() }
      switch await task.result {
      case .success(let status): #expect(status == 200)
      case .failure(let error): #expect(error is CancellationError && round.isMultiple(of: 2))
      }
    }
  }
}

private enum Marker {
  @TaskLocal static var isSet = false
}
