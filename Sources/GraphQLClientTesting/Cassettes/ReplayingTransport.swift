public import HTTPClientCore
public import Streams
import StrictJSON
public import SystemBase

/// Responds to requests as a cassette has recorded it, without a server.
///
///     let transport = try ReplayingTransport(contentsOf: file)
///     let client = try APIClient(baseURL: endpoint, transport: transport)
///     …
///     #expect(transport.failures == [])
///
/// A request that is not in the cassette fails with the kind `notRecorded`, and says what differs from the nearest
/// exchange; the cause is a ``CassetteMismatch``. It imports no test framework: ``failures`` lists what was not as
/// recorded.
public final class ReplayingTransport: HTTPTransport {
  /// Which exchange a request gets.
  public enum Order: Hashable, Sendable {
    /// The next one, to which it has to be equal: in method, path, query, body and the compared header fields.
    case strict

    /// The first that was not used, of the same operation with equal variables, wherever it stands in the cassette; for
    /// a request that is not GraphQL, an equal one. With `repeats`, the last such exchange is used again if there is no
    /// other, as for a program that polls.
    case byOperation(repeats: Bool = false)
  }

  private let replay: Locked<Replay>
  private let scheduler: any Scheduler

  /// Takes a cassette.
  ///
  /// - Parameters:
  ///   - order: Which exchange a request gets.
  ///   - comparedHeaders: The names of header fields that have to be equal, such as `Accept-Language`. Of a field whose
  ///     value was left out, only its presence counts.
  ///   - scheduler: Times the deadlines of requests whose exchange had not ended.
  public init(
    _ cassette: Cassette, order: Order = .strict, comparing comparedHeaders: [String] = [],
    scheduler: some Scheduler = ConcurrentScheduler()
  ) {
    replay = Locked(Replay(exchanges: cassette.exchanges, order: order, comparedHeaders: comparedHeaders))
    self.scheduler = scheduler
  }

  /// Reads a cassette; see `Cassette.init(contentsOf:)` for the errors.
  public convenience init(
    contentsOf file: URL, order: Order = .strict, comparing comparedHeaders: [String] = []
  ) throws(CassetteError) {
    self.init(try Cassette(contentsOf: file), order: order, comparing: comparedHeaders)
  }

  /// What was not as recorded: requests that are not in the cassette, with what differs, and exchanges that no request
  /// has asked for.
  public var failures: [String] { replay.withLock { $0.failures } }

  /// A cold stream of the recorded response; see `HTTPTransport.send(_:)`. It calls back on the subscriber's thread. A
  /// failure is that which was recorded, without its cause; an exchange that had not ended stays open after what had
  /// arrived.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      try request.checkFraming(sendsUploads: true)
      // Nothing is left out here: what the cassette left out is not compared.
      var finder = SecretFinder(nil)
      let requested = RecordedRequest(request, by: &finder)
      let redactor = Redactor(secretsOf: request)
      let taken = replay.withLock { $0.take(requested, redactor: redactor) }
      let exchange = try taken.mapError { $0.error(request.operationName) }.get()
      let run = ScriptRun(exchange.script.steps, keepingTimeoutsOf: request, scheduler: scheduler)
      return run.elements.do(onDispose: { _ = run.stop() })
    }
  }
}

/// Why a request is not in a cassette.
public struct CassetteMismatch: Error, Hashable, Sendable, CustomStringConvertible {
  /// The method, path and operation of the request.
  public let request: String
  /// The index of the exchange that the request is most like, in the cassette; `nil` if none is left.
  public let nearest: Int?
  /// Where the request differs from that exchange: `body.variables.id: recorded "7", requested "8"`.
  public let differences: [String]

  /// What differs, in one line.
  public var description: String {
    guard let nearest else { return "\(request) is not in the cassette: all of its exchanges were used before." }
    let shown = differences.prefix(5).joined(separator: "; ")
    let more = differences.count > 5 ? "; and \(differences.count - 5) more" : ""
    return "\(request) is not in the cassette. The nearest exchange, number \(nearest + 1), differs in \(shown)\(more)."
  }

  func error(_ operationName: String?) -> RequestError {
    RequestError(.notRecorded, description, operationName: operationName, cause: self, reached: .never)
  }
}

extension RequestError.Kind {
  /// A cassette has no exchange for the request; `cause` is a ``CassetteMismatch``.
  public static let notRecorded = RequestError.Kind("not recorded")
}

/// Which exchanges of a cassette are left.
struct Replay: Sendable {
  private let exchanges: [RecordedExchange]
  private let order: ReplayingTransport.Order
  private let comparedHeaders: [String]
  private var isUsed: [Bool]
  private var mismatches: [String] = []

  init(exchanges: [RecordedExchange], order: ReplayingTransport.Order, comparedHeaders: [String]) {
    self.exchanges = exchanges
    self.order = order
    self.comparedHeaders = comparedHeaders
    isUsed = Array(repeating: false, count: exchanges.count)
  }

  /// The exchange for a request, which then counts as used.
  mutating func take(_ request: RecordedRequest, redactor: Redactor) -> Result<RecordedExchange, CassetteMismatch> {
    let unused = exchanges.indices.filter { !isUsed[$0] }
    let candidates: [Int]
    var repeated: [Int] = []
    switch order {
    case .strict: candidates = Array(unused.prefix(1))
    case .byOperation(let repeats):
      candidates = unused
      if repeats { repeated = exchanges.indices.filter { isUsed[$0] }.reversed() }
    }
    var nearest: (index: Int, differences: Differences)?
    for index in candidates + repeated {
      let differences = differences(of: exchanges[index].request, from: request)
      if differences.texts.isEmpty {
        isUsed[index] = true
        return .success(exchanges[index])
      }
      if differences.weight < nearest?.differences.weight ?? .max { nearest = (index, differences) }
    }
    let mismatch = CassetteMismatch(
      request: request.description, nearest: nearest?.index,
      differences: nearest?.differences.texts.map(redactor.redact) ?? [])
    mismatches.append(mismatch.description)
    return .failure(mismatch)
  }

  var failures: [String] {
    mismatches
      + exchanges.indices.filter { !isUsed[$0] }.map { "Not requested: exchange \($0 + 1), \(exchanges[$0])" }
  }

  private struct Differences {
    var texts: [String] = []
    var weight = 0

    mutating func compare(_ name: String, _ recorded: String, _ requested: String) {
      guard recorded != requested else { return }
      texts.append("\(name): recorded \(recorded), requested \(requested)")
      // Two requests that go to different places are not alike, however little else they differ in.
      weight += 1000
    }

    mutating func add(_ texts: [String]) {
      self.texts += texts
      weight += texts.count
    }
  }

  private func differences(of recorded: RecordedRequest, from requested: RecordedRequest) -> Differences {
    var differences = Differences()
    differences.compare("operation", recorded.operationName ?? "none", requested.operationName ?? "none")
    if order != .strict, requested.operationName != nil, recorded.isGraphQL, requested.isGraphQL {
      differences.add(recorded.variables.differences(from: requested.variables, at: "variables"))
    } else {
      differences.compare("method", recorded.method, requested.method)
      if !recorded.path.matchesRedacted(requested.path) {
        differences.compare("path", recorded.path, requested.path)
      }
      differences.add(
        RecordedParameter.differences(of: recorded.parameters, from: requested.parameters, as: "parameter"))
      differences.add(recorded.body.differences(from: requested.body))
    }
    for name in comparedHeaders {
      let values = recorded.headers.filter { $0.hasName(name) }.map(\.value)
      let asked = requested.headers.filter { $0.hasName(name) }.map(\.value)
      guard values != asked, values.isEmpty || asked.isEmpty || values != [Redactor.placeholder] else { continue }
      differences.add([
        "header \(name): recorded \(values.joined(separator: ", ")), requested \(asked.joined(separator: ", "))"
      ])
    }
    return differences
  }
}
