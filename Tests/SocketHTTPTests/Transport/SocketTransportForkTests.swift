import Foundation
import Glibc
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares
@testable import SocketHTTP

@Suite struct SocketTransportForkTests {
  @Test func `requests of a forked process fail at once, and say so, and leave its parent's alone`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
      let (used, unused, request) = (SocketTransport(), SocketTransport(), try HTTPRequest.to(server))
      _ = try await used.response(to: request)
      // Swift does not have the function itself.
      typealias Fork = @convention(c) () -> pid_t
      let fork = unsafeBitCast(try #require(dlsym(dlopen(nil, RTLD_NOW), "fork")), to: Fork.self)
      let child = fork()
      if child == 0 {
        endProcess(after: 60)
        for transport in [used, unused] {
          _ = transport.send(request).subscribe(onError: { error in
            let error = error as? RequestError
            if error?.kind == .forkedProcess, error?.reached == .never, error?.isTransient == false {
              counted.withLock { $0 += 1 }
            }
          })
        }
        _exit(counted.withLock { $0 } == 2 ? 0 : 1)
      }
      var status: Int32 = -1
      #expect(retryingOnInterrupt { Int(waitpid(child, &status, 0)) } == Int(child))
      try #require(status == 0)
      // The parent's connection is as it was.
      _ = try await used.response(to: request)
      try #require(server.requests.count == 2 && server.log.value.connections.count == 1)
    }
  }
}

extension SocketTransportForkTests {
  @Test func `a forked process cannot send on its parent's WebSocket, which stays as it was`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let server = try WebSocketPeerServer { peer in
        try peer.accept()
        while true {
          let frame = try peer.readFrame()
          try peer.send(ServerFrame.bytes(frame.opcode, frame.payload))
        }
      }
      let transport = SocketTransport()
      let log = try WebSocketLog(transport.connect(server.request()))
      let connection = try await log.opened()
      typealias Fork = @convention(c) () -> pid_t
      let fork = unsafeBitCast(try #require(dlsym(dlopen(nil, RTLD_NOW), "fork")), to: Fork.self)
      let child = fork()
      if child == 0 {
        endProcess(after: 60)
        count { try connection.send("child") }
        count { try connection.ping() }
        count { try connection.close() }
        _exit(counted.withLock { $0 } == 3 ? 0 : 1)
      }
      var status: Int32 = -1
      #expect(retryingOnInterrupt { Int(waitpid(child, &status, 0)) } == Int(child))
      try #require(status == 0)
      try connection.send("parent")
      try await log.entries.wait(for: "the echo") { $0.count == 2 }
      try #require(log.texts == ["parent"])
    }
  }
}

private let counted = Locked(0)

/// Counts an error that says that the process was forked.
private func count(_ command: () throws -> Void) {
  do { try command() } catch {
    if (error as? RequestError)?.kind == .forkedProcess { counted.withLock { $0 += 1 } }
  }
}
