import Foundation

/// Looks names up, off the caller's thread: once for all who ask for the same name at a time, and few at once, for the
/// system's own look-up cannot be called off.
final class AddressResolver: Sendable {
  typealias Completion = @Sendable (Result<[SocketAddress], SocketAddress.LookUpError>) -> Void

  private struct Name: Hashable {
    let host: String
    let port: Int
  }

  private let waiting = Locked<[Name: [Completion]]>([:])
  private let queue: OperationQueue

  init() {
    queue = OperationQueue()
    queue.name = "SocketTransport.AddressResolver"
    queue.maxConcurrentOperationCount = 8
  }

  /// Calls back on a thread of its own.
  func lookUp(_ host: String, port: Int, _ completion: @escaping Completion) {
    let name = Name(host: host, port: port)
    let isFirst = waiting.withLock { waiting in
      waiting[name, default: []].append(completion)
      return waiting[name]?.count == 1
    }
    guard isFirst else { return }
    queue.addOperation { [self] in
      let result = SocketAddress.lookUp(host, port: port)
      let completions = waiting.withLock { $0.removeValue(forKey: name) ?? [] }
      for completion in completions { completion(result) }
    }
  }
}
