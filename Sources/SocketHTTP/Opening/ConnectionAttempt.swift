import HTTPClientCore
import Streams
import SystemBase

/// Connects a socket: resolves the name, and races the addresses. Used only on the loop's thread.
final class ConnectionAttempt: @unchecked Sendable {
  /// Called with a socket that the loop watches, or an error.
  typealias Completion = (Result<OpenSocket, RequestError>) -> Void

  /// All properties are used only on the loop's thread.
  private let host: String
  private let port: Int
  private let unixPath: String?
  private let loop: EventLoop
  private let resolver: AddressResolver
  private let silent: Locked<SilentAddresses>
  private var completion: Completion?
  private var race = ConnectionRace([])
  private var candidates: [Candidate] = []
  private var lookUp: (any Disposable)?
  private var lookedUp: Instant?
  /// The timer for trying the next address while this attempt continues.
  private var timer: LoopTimer?
  /// How long to wait before trying again if the queue of a Unix domain socket is full.
  private static let pause = Duration.milliseconds(10)

  /// A `unixPath` is used instead of host and port.
  init(
    host: String, port: Int, unixPath: String?, loop: EventLoop, resolver: AddressResolver,
    silent: Locked<SilentAddresses>, _ completion: @escaping Completion
  ) {
    self.host = host
    self.port = port
    self.unixPath = unixPath
    self.loop = loop
    self.resolver = resolver
    self.silent = silent
    self.completion = completion
  }

  func start() {
    if let path = unixPath {
      guard let address = SocketAddress(unixPath: path) else {
        return finish(.failure(RequestError(.cannotConnect, "'\(path)' is not a valid path for a Unix domain socket.")))
      }
      run(ConnectionRace([address]))
    } else if let address = SocketAddress(numericHost: host, port: port) {
      run(ConnectionRace([address]))
    } else {
      lookUp = resolver.lookUp(host, port: port) { [self] outcome in
        // Here, since a resolver's error is described by code of the user's, which must not run on the loop.
        let result = outcome.mapError { error in
          let cause: any Error = (error as? SocketAddress.LookUpError)?.systemError ?? error
          return RequestError(.cannotConnect, "The host '\(host)' was not found: \(error).", cause: cause)
        }
        loop.submit { [self] in didLookUp(result) }
      }
    }
  }

  /// Cancels the attempt, without calling back.
  func cancel() {
    completion = nil
    cleanUp()
  }

  private func didLookUp(_ result: Result<[SocketAddress], RequestError>) {
    guard completion != nil else { return }
    lookedUp = .now
    switch result {
    case .success(let addresses):
      run(ConnectionRace(addresses, silent: silent.withLock { $0 }))
    case .failure(let error): finish(.failure(error))
    }
  }

  private func run(_ race: ConnectionRace) {
    self.race = race
    tryNext()
  }

  private func tryNext() {
    stopTimer()
    while completion != nil {
      guard let address = race.next() else {
        if race.isLost { failAll() }
        return
      }
      do throws(SystemError) {
        try connect(to: address)
        timer = loop.schedule(at: .now + ConnectionRace.attemptDelay) { [weak self] in self?.tryNext() }
        return
      } catch {
        if unixPath != nil, error.isBlocked {
          // There is no notification when its queue has room again (connect(2)).
          timer = loop.schedule(at: .now + Self.pause) { [weak self] in self?.run(ConnectionRace([address])) }
          return
        }
        race.fail(address, error)
      }
    }
  }

  private func connect(to address: SocketAddress) throws(SystemError) {
    let socket = try Socket.open(family: address.family)
    let candidate = Candidate(address, socket, self)
    do throws(SystemError) {
      try socket.connect(to: address)
      candidate.token = try loop.register(socket, for: candidate)
    } catch {
      socket.close()
      throw error
    }
    candidates.append(candidate)
  }

  fileprivate func didFinish(_ candidate: Candidate) {
    guard completion != nil, let token = candidate.token else { return }
    let earlier = candidates.prefix { $0 !== candidate }.map(\.address)
    candidates.removeAll { $0 === candidate }
    if let error = candidate.socket.takeError() {
      loop.close(candidate.socket, token)
      race.fail(candidate.address, error)
      tryNext()
    } else {
      silent.withLock { $0.record(candidate.address, before: earlier, at: .now) }
      finish(.success(OpenSocket(socket: candidate.socket, token: token, lookedUp: lookedUp)))
    }
  }

  private func failAll() {
    let place = unixPath ?? (host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
    let reasons = race.failures.isEmpty ? "it has no addresses" : race.failures.joined(separator: "; ")
    let message = "No connection to \(place): \(reasons)."
    finish(.failure(RequestError(.cannotConnect, message, cause: race.error)))
  }

  private func finish(_ result: Result<OpenSocket, RequestError>) {
    guard let completion else { return }
    self.completion = nil
    cleanUp()
    completion(result)
  }

  private func cleanUp() {
    lookUp?.dispose()
    lookUp = nil
    stopTimer()
    for candidate in candidates {
      if let token = candidate.token { loop.close(candidate.socket, token) }
    }
    candidates = []
  }

  private func stopTimer() {
    if let timer { loop.cancel(timer) }
    timer = nil
  }
}

/// A socket that is connecting. Used only on the loop's thread.
private final class Candidate: LoopHandler {
  let address: SocketAddress
  let socket: Socket
  var token: LoopToken?
  private weak var attempt: ConnectionAttempt?

  init(_ address: SocketAddress, _ socket: Socket, _ attempt: ConnectionAttempt) {
    self.address = address
    self.socket = socket
    self.attempt = attempt
  }

  func ready(_ event: PollEvent) {
    if event.isWritable { attempt?.didFinish(self) }
  }

  func loopStopped() {
    attempt?.cancel()
  }
}

/// Addresses that did not respond while another one of the same host did. They are tried last for a while, since each
/// attempt at one that is tried first costs a quarter of a second (RFC 8305, section 4, has clients prefer addresses
/// that they know to work).
///
/// The winners are not preferred: a host's addresses share its load.
struct SilentAddresses {
  private static let limit = 256
  private static let memory = Duration.seconds(300)

  private var ends: [SocketAddress: Instant] = [:]

  /// The addresses in order, but those that are silent last.
  func moveLast(of addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
    if ends.isEmpty { return addresses }
    let isSilent = { address in ends[address].map { now < $0 } ?? false }
    return addresses.filter { !isSilent($0) } + addresses.filter(isSilent)
  }

  /// Records that an address has responded, and that others had not by then though they were tried before.
  mutating func record(_ winner: SocketAddress, before silent: [SocketAddress], at now: Instant) {
    ends[winner] = nil
    for address in silent {
      if ends.count >= Self.limit, ends[address] == nil { makeRoom(at: now) }
      ends[address] = now + Self.memory
    }
  }

  private mutating func makeRoom(at now: Instant) {
    ends = ends.filter { now < $0.value }
    guard ends.count >= Self.limit, let first = ends.min(by: { $0.value < $1.value }) else { return }
    ends[first.key] = nil
  }
}
