import HTTPClientCore
import Streams
import SystemBase

/// Resolves host names away from the caller's thread. Simultaneous requests for the same name share one look-up.
///
/// The system's look-up cannot be cancelled and may hang, so the number of look-ups is limited. One that is slow leaves
/// its place to another one, and newcomers begin another one, up to four of a name. Names that hang, names that are new
/// and names that were found before have places of their own: however many hang, the others find a place.
final class AddressResolver: Sendable {
  typealias Outcome = Result<[SocketAddress], any Error>
  typealias Completion = @Sendable (Outcome) -> Void
  /// Calls its argument once a look-up that begins now would be slow, unless the result is disposed.
  typealias WhenSlow = @Sendable (@escaping @Sendable () -> Void) -> any Disposable

  private let state = Locked(State())
  private let lookUp: @Sendable (String, Int) -> Outcome
  private let whenSlow: WhenSlow
  private let now: @Sendable () -> Instant

  /// After how long a look-up leaves its place: the system's usually takes less.
  private static let patience = Duration.milliseconds(100)
  /// On a queue of its own, since the threads of others may be blocked.
  private static let timers = ConcurrentScheduler(queue: .unshared())

  /// - Parameters:
  ///   - lookUp: The system's look-up.
  ///   - whenSlow: The timer of a slow look-up.
  ///   - now: The clock by which it is judged whether a name hangs.
  init(
    lookUp: @escaping @Sendable (String, Int) -> Outcome = { host, port in
      SocketAddress.lookUp(host, port: port).mapError { $0 as any Error }
    },
    whenSlow: @escaping WhenSlow = { timers.schedule(after: patience, $0) },
    now: @escaping @Sendable () -> Instant = { .now }
  ) {
    self.lookUp = lookUp
    self.whenSlow = whenSlow
    self.now = now
  }

  /// A resolver that asks a closure for the addresses of a name; see ``SocketTransport/Configuration/resolver``.
  convenience init(_ addresses: @escaping @Sendable (String) throws -> [String]?) {
    self.init(lookUp: { host, port in
      Result {
        guard let texts = try addresses(host) else { return try SocketAddress.lookUp(host, port: port).get() }
        return try texts.map { text in
          guard let address = SocketAddress(numericHost: text, port: port) else { throw NoAddress(text: text) }
          return address
        }
      }
    })
  }

  /// Why an address of a user's own resolver cannot be used.
  private struct NoAddress: Error, CustomStringConvertible {
    let text: String
    var description: String { "its resolver gave '\(text)', which is no numeric address" }
  }

  /// Calls back on a thread of the resolver, unless the result is disposed; a look-up that has not begun by then is
  /// skipped if no other exchange waits for it.
  func lookUp(_ host: String, port: Int, _ completion: @escaping Completion) -> any Disposable {
    let name = Name(host: host, port: port)
    let (lookUp, number) = state.withLock { $0.join(name, at: now(), completion) }
    startNext()
    return Disposables.create { [state] in
      withExtendedLifetime(state.withLock { $0.lookUps[lookUp]?.waiting.removeValue(forKey: number) }) {}
    }
  }

  private func startNext() {
    guard let next = state.withLock({ $0.takeNext(at: now()) }) else { return }
    ThreadPool.shared.run { [self] in work(from: next) }
  }

  private func work(from first: (id: Int, name: Name)) {
    var next: (id: Int, name: Name)? = first
    while let (id, name) = next {
      let timer = whenSlow { [weak self] in
        self?.state.withLock { $0.recordSlow(id) }
        self?.startNext()
      }
      let outcome = lookUp(name.host, name.port)
      timer.dispose()
      let completions = state.withLock { $0.finish(id, at: now()) }
      for completion in completions { completion(outcome) }
      next = state.withLock { $0.takeNext(at: now()) }
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
    let kind: NameRecord.Kind
    var waiting: [Int: Completion] = [:]
    /// When it began, if it has.
    var start: Instant?
    var isSlow = false
  }

  /// The look-ups of one kind of names.
  private struct Lane {
    var queue = Fifo<Int>()
    var running = 0
    var slow = 0

    /// Whether another look-up may begin; each one blocks a thread.
    func hasPlace(within limits: (quick: Int, all: Int)) -> Bool {
      running - slow < limits.quick && running < limits.all
    }
  }

  private struct State {
    /// Those that run and those in the queues.
    var lookUps: [Int: LookUp] = [:]
    /// The look-ups that newcomers join.
    private var current: [Name: Int] = [:]
    private var lanes: [NameRecord.Kind: Lane] = [:]
    private var record = NameRecord()
    /// How many look-ups of a name are slow.
    private var slow: [Name: Int] = [:]
    private var lastNumber = 0

    private static let mostSlowOfName = 4

    mutating func join(
      _ name: Name, at now: Instant, _ completion: @escaping Completion
    ) -> (lookUp: Int, number: Int) {
      lastNumber += 1
      let id = current[name] ?? lastNumber
      if id == lastNumber {
        let kind = slow[name] == nil ? record.kind(of: name.host, at: now) : .hanging
        current[name] = id
        lookUps[id] = LookUp(name: name, kind: kind)
        lanes[kind, default: Lane()].queue.append(id)
      }
      lookUps[id]?.waiting[lastNumber] = completion
      return (id, lastNumber)
    }

    /// The next look-up that is still wanted, if there is a place for it.
    mutating func takeNext(at now: Instant) -> (id: Int, name: Name)? {
      for kind in NameRecord.Kind.allCases {
        while lanes[kind]?.hasPlace(within: kind.places) ?? false, let id = lanes[kind]?.queue.popFirst() {
          guard let lookUp = lookUps[id], !lookUp.waiting.isEmpty else {
            _ = remove(id)
            continue
          }
          lookUps[id]?.start = now
          lanes[kind]?.running += 1
          return (id, lookUp.name)
        }
      }
      return nil
    }

    mutating func recordSlow(_ id: Int) {
      guard let lookUp = lookUps[id] else { return }
      lookUps[id]?.isSlow = true
      lanes[lookUp.kind]?.slow += 1
      slow[lookUp.name, default: 0] += 1
      if slow[lookUp.name, default: 0] < Self.mostSlowOfName { current[lookUp.name] = nil }
    }

    mutating func finish(_ id: Int, at now: Instant) -> [Completion] {
      guard let lookUp = remove(id) else { return [] }
      lanes[lookUp.kind]?.running -= 1
      if lookUp.isSlow {
        lanes[lookUp.kind]?.slow -= 1
        let left = slow[lookUp.name, default: 1] - 1
        slow[lookUp.name] = left > 0 ? left : nil
      }
      if let start = lookUp.start { record.record(lookUp.name.host, took: now - start, at: now) }
      return Array(lookUp.waiting.values)
    }

    private mutating func remove(_ id: Int) -> LookUp? {
      guard let lookUp = lookUps.removeValue(forKey: id) else { return nil }
      if current[lookUp.name] == id { current[lookUp.name] = nil }
      return lookUp
    }
  }
}

/// How long the last look-ups of names took, of the last few thousand names.
struct NameRecord {
  /// What is to be expected of a name.
  enum Kind: CaseIterable {
    /// Its last look-up ended, if only with an error.
    case answered
    /// It was not looked up before, or not lately.
    case unknown
    /// A look-up of it hangs, or its last one did.
    case hanging

    /// How many look-ups of such names may run at once, without and with the slow ones. Names that hang are looked up
    /// as unknown ones at first.
    var places: (quick: Int, all: Int) {
      switch self {
      case .answered: (16, 64)
      case .unknown: (32, 256)
      case .hanging: (16, 64)
      }
    }
  }

  /// How long a look-up takes at most that does not count as hanging.
  private static let longest = Duration.seconds(2)
  /// How long a name that hung counts as one: it may have been the network, not the name.
  private static let memory = Duration.seconds(30)
  private static let size = 2048

  /// Until when a name counts as hanging; `nil` if its last look-up ended.
  private typealias Table = [String: Instant?]
  /// When one table is full, it becomes the older one, and that is dropped.
  private var recent = Table()
  private var older = Table()

  mutating func record(_ host: String, took time: Duration, at now: Instant) {
    if recent.count >= Self.size { (recent, older) = ([:], recent) }
    recent.updateValue(time > Self.longest ? now + Self.memory : nil, forKey: host)
  }

  func kind(of host: String, at now: Instant) -> Kind {
    guard let record = recent[host] ?? older[host] else { return .unknown }
    guard let until = record else { return .answered }
    return now < until ? .hanging : .unknown
  }
}
