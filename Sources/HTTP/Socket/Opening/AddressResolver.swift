import Foundation
import Streams

/// Resolves host names away from the caller's thread. Simultaneous requests for the same name share one look-up, and
/// few look-ups run at once, because the system's look-up cannot be cancelled. One that is slow, because it may hang,
/// holds up no others: it leaves its place, and newcomers begin another one, up to four of a name.
final class AddressResolver: Sendable {
  typealias Outcome = Result<[SocketAddress], SocketAddress.LookUpError>
  typealias Completion = @Sendable (Outcome) -> Void

  private let state = Locked(State())
  private let whenSlow: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let lookUp: @Sendable (String, Int) -> Outcome

  /// - Parameters:
  ///   - lookUp: The system's look-up.
  ///   - whenSlow: Calls its argument once a look-up that begins now would be slow.
  init(
    lookUp: @escaping @Sendable (String, Int) -> Outcome = { SocketAddress.lookUp($0, port: $1) },
    whenSlow: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { action in
      DispatchQueue.unshared().asyncAfter(deadline: .now() + .seconds(1)) { action() }
    }
  ) {
    self.whenSlow = whenSlow
    self.lookUp = lookUp
  }

  /// Calls back on a thread of the resolver, unless the result is disposed; a look-up that has not begun by then is
  /// skipped if nobody else waits for it.
  func lookUp(_ host: String, port: Int, _ completion: @escaping Completion) -> any Disposable {
    let (lookUp, number) = state.withLock { $0.join(Name(host: host, port: port), completion) }
    startNext()
    return Disposables.create { [state] in
      _ = state.withLock { $0.lookUps[lookUp]?.waiting.removeValue(forKey: number) }
    }
  }

  private func startNext() {
    guard let next = state.withLock({ $0.takeNext() }) else { return }
    DispatchQueue.unshared().async { [self] in work(from: next) }
  }

  private func work(from first: (id: Int, name: Name)) {
    var next: (id: Int, name: Name)? = first
    while let (id, name) = next {
      whenSlow { [weak self] in
        self?.state.withLock { $0.noteSlow(id) }
        self?.startNext()
      }
      let outcome = lookUp(name.host, name.port)
      let completions = state.withLock { $0.finish(id) }
      for completion in completions { completion(outcome) }
      next = state.withLock { $0.takeNext() }
    }
  }
}

extension AddressResolver {
  private struct Name: Hashable {
    let host: String
    let port: Int
  }

  private struct LookUp {
    let name: Name
    var waiting: [Int: Completion] = [:]
    var isSlow = false
  }

  private struct State {
    /// Those that run and those in the queue.
    var lookUps: [Int: LookUp] = [:]
    /// The look-ups that newcomers join.
    private var current: [Name: Int] = [:]
    private var queue: [Int] = []
    private var running = 0
    private var slow = 0
    private var lastNumber = 0

    /// How many look-ups may run at once, not counting and counting the slow ones: each one blocks a thread.
    private static let most = (quick: 8, slowOfName: 4, all: 64)

    mutating func join(_ name: Name, _ completion: @escaping Completion) -> (lookUp: Int, number: Int) {
      lastNumber += 1
      let id = current[name] ?? lastNumber
      if id == lastNumber {
        current[name] = id
        lookUps[id] = LookUp(name: name)
        queue.append(id)
      }
      lookUps[id]?.waiting[lastNumber] = completion
      return (id, lastNumber)
    }

    /// The next look-up that is still wanted, if there is a place for it.
    mutating func takeNext() -> (id: Int, name: Name)? {
      guard running - slow < Self.most.quick, running < Self.most.all else { return nil }
      while !queue.isEmpty {
        let id = queue.removeFirst()
        guard let lookUp = lookUps[id], !lookUp.waiting.isEmpty else {
          _ = remove(id)
          continue
        }
        running += 1
        return (id, lookUp.name)
      }
      return nil
    }

    mutating func noteSlow(_ id: Int) {
      guard let name = lookUps[id]?.name else { return }
      lookUps[id]?.isSlow = true
      slow += 1
      if lookUps.values.count(where: { $0.isSlow && $0.name == name }) < Self.most.slowOfName { current[name] = nil }
    }

    mutating func finish(_ id: Int) -> [Completion] {
      guard let lookUp = remove(id) else { return [] }
      running -= 1
      if lookUp.isSlow { slow -= 1 }
      return Array(lookUp.waiting.values)
    }

    private mutating func remove(_ id: Int) -> LookUp? {
      guard let lookUp = lookUps.removeValue(forKey: id) else { return nil }
      if current[lookUp.name] == id { current[lookUp.name] = nil }
      return lookUp
    }
  }
}
