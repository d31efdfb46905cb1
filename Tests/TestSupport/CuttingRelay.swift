import Foundation
import Glibc
import LoopbackServers

/// Passes bytes on to a server, and cuts the connection where so many of the server's bytes have reached the client, or
/// when it is told to.
package final class CuttingRelay: Sendable {
  /// How a connection ends.
  package enum End: Sendable, CaseIterable {
    /// With a FIN, as from a server that closes.
    case finish
    /// With a RST, as from a server that crashes.
    case reset
  }

  package let port: UInt16

  private let listener: Descriptor
  private let clients = Monitor<[Descriptor]>([])

  /// Every connection is cut after that many bytes; bytes of the client are passed on as long as it lasts. At a
  /// refusing port, connections are refused again once this is closed.
  package init(
    to server: UInt16, at refusing: RefusingPort? = nil, after count: Int = .max, _ end: End = .finish
  ) throws {
    (listener, port) = try Loopback.listen(at: refusing, backlog: 512)
    Thread.detachNewThread { [listener, clients] in
      while true {
        let number = uninterrupted { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        let client = Descriptor(number)
        clients.update { $0.append(client) }
        Thread.detachNewThread {
          if let upstream = try? Loopback.connect(port: server) {
            Self.pass(client, upstream, count)
            upstream.close()
          }
          clients.update { clients in clients.removeAll { $0 === client } }
          if end == .reset { client.resetWhenClosed() }
          client.close()
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  /// Refuses connections from now on, and cuts those that there are.
  package func close() {
    listener.shutDown()
    cutAll()
  }

  /// Cuts all connections that there are.
  package func cutAll() {
    clients.update { clients in for client in clients { client.shutDown() } }
  }

  private static func pass(_ client: Descriptor, _ upstream: Descriptor, _ count: Int) {
    var left = count
    while left > 0 {
      var entries = [
        pollfd(fd: client.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: upstream.number, events: Int16(POLLIN), revents: 0),
      ]
      guard uninterrupted({ poll(&entries, 2, -1) }) > 0 else { return }
      if entries[0].revents != 0 {
        let bytes = client.receive()
        guard !bytes.isEmpty, upstream.send(bytes[...]) else { return }
      }
      if entries[1].revents != 0 {
        let bytes = upstream.receive(upTo: min(left, 1 << 16))
        guard !bytes.isEmpty, client.send(bytes[...]) else { return }
        left -= bytes.count
      }
    }
  }
}
