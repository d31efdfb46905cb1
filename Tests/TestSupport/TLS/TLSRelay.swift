package import Foundation
import Glibc
package import LoopbackServers
import Synchronization

/// Speaks TLS with clients, and passes what they say to a server that does not: any script can be played over TLS.
///
/// Where that server ends, the client is told so (close_notify), unless the relay is set to be rude; a handshake that
/// fails ends the connection.
package final class TLSRelay: Sendable {
  package let port: UInt16

  /// Of each connection whose handshake is done, whether it resumed a session.
  package let resumptions = Monitor<[Bool]>([])

  /// How many connections the relay has closed: their clients can know of it.
  package let closed = Monitor<Int>(0)

  /// What clients asked for a tunnel with, where the relay plays a proxy.
  package let tunnelRequests = Monitor<[String]>([])

  private let listener: Descriptor

  /// - Parameters:
  ///   - isRude: Whether the relay leaves the close_notify out, as somebody would who cuts the connection.
  ///   - tunnelAnswer: What a proxy in front of the server says when it is asked for a tunnel; without it there is
  ///     none.
  package init(
    to server: UInt16, _ context: TLSServerContext, isRude: Bool = false, tunnelAnswer: String? = nil
  ) throws {
    (listener, port) = try Loopback.listen(backlog: 512)
    Thread.detachNewThread { [listener, resumptions, closed, tunnelRequests] in
      while true {
        let number = retryingOnInterrupt { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        let client = Descriptor(number)
        Thread.detachNewThread {
          if let tunnelAnswer {
            let head = client.receiveHead()
            tunnelRequests.update { $0.append(head) }
            _ = client.send([UInt8](tunnelAnswer.utf8)[...])
          }
          if let upstream = try? Loopback.connect(port: server), let engine = try? TLSServerEngine(context) {
            let connection = RelayedConnection(client: client, upstream: upstream, engine: engine, isRude: isRude)
            connection.run { isResumed in resumptions.update { $0.append(isResumed) } }
            upstream.close()
          }
          client.close()
          closed.update { $0 += 1 }
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  package func url(host: String = "127.0.0.1") -> URL {
    guard let url = URL(string: "https://\(host):\(port)/") else { preconditionFailure("A port makes a valid URL.") }
    return url
  }
}

/// One connection of a relay, used by its thread alone.
private struct RelayedConnection {
  let client: Descriptor
  let upstream: Descriptor
  let engine: TLSServerEngine
  let isRude: Bool

  func run(_ whenEstablished: (_ isResumed: Bool) -> Void) {
    defer { sendOutgoing() }
    guard (try? shakeHands()) == true, let isResumed = try? engine.isResumed else { return }
    whenEstablished(isResumed)
    while true {
      var entries = [
        pollfd(fd: client.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: upstream.number, events: Int16(POLLIN), revents: 0),
      ]
      guard retryingOnInterrupt({ poll(&entries, 2, -1) }) > 0 else { return }
      if entries[0].revents != 0 {
        let bytes = client.receive()
        guard !bytes.isEmpty, (try? passOn(bytes)) != nil else { return }
      }
      if entries[1].revents != 0 {
        let bytes = upstream.receive()
        guard !bytes.isEmpty else {
          if !isRude { try? engine.close() }
          return
        }
        guard (try? engine.write(Data(bytes))) != nil, sendOutgoing() else { return }
      }
    }
  }

  private func shakeHands() throws -> Bool {
    while try !engine.handshake() {
      sendOutgoing()
      let bytes = client.receive()
      guard !bytes.isEmpty else { return false }
      try engine.receive(Data(bytes))
    }
    return sendOutgoing() && flushPlain()
  }

  private func passOn(_ bytes: [UInt8]) throws {
    try engine.receive(Data(bytes))
    _ = flushPlain()
    sendOutgoing()
  }

  /// What came with the handshake's last bytes.
  private func flushPlain() -> Bool {
    while let data = try? engine.read() {
      guard !data.isEmpty else { return false }
      guard upstream.send([UInt8](data)[...]) else { return false }
    }
    return true
  }

  @discardableResult
  private func sendOutgoing() -> Bool {
    guard let data = try? engine.takeOutgoing() else { return false }
    return data.isEmpty || client.send([UInt8](data)[...])
  }
}

extension Descriptor {
  /// Reads a head and not a byte more.
  fileprivate func receiveHead() -> String {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let byte = receive(upTo: 1)
      guard !byte.isEmpty else { break }
      head += byte
    }
    return String(decoding: head, as: UTF8.self)
  }
}
