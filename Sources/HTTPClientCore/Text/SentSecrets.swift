import Streams
package import SystemBase

/// The secrets of all that was sent for a request or on a connection, whichever layer added them. One object follows a
/// request through middlewares and attempts (`RequestContext.sent`), so that its redactor knows what every error, event
/// and log line about it may not show.
package final class SentSecrets: Sendable {
  /// What went out.
  private enum Source: Sendable {
    case fields([HTTPField])
    case request(HTTPHeaders, HTTPTarget)
    case texts([String])

    /// Those that stand anywhere but in a query.
    var secrets: [String] {
      switch self {
      case .fields(let fields): Redactor.secrets(of: fields)
      case .request(let headers, _): Redactor.secrets(of: headers)
      case .texts(let texts): texts
      }
    }

    var queryValues: [String] {
      if case .request(_, let target) = self { Redactor.queryValues(of: target.text) } else { [] }
    }
  }

  /// Values of what went out, the latest last. What came before them is kept up to a limit, or as many as there were of
  /// it last; and they themselves, whatever they are: a query may have more values than are kept of a long subscription.
  private struct Values {
    private(set) var all: [String] = []
    private var latestCount = 0

    mutating func take(_ new: [String]) {
      var seen: Set<[UInt8]> = []
      let distinct = new.reversed().filter { Redactor.isSecret($0) && seen.insert(Array($0.utf8)).inserted }.reversed()
      all.removeAll { seen.contains(Array($0.utf8)) }
      guard !distinct.isEmpty else { return }
      all.removeFirst(max(0, all.count - max(SentSecrets.limit, latestCount)))
      latestCount = distinct.count
      all += distinct
    }
  }

  /// What tells a copy of a request, as long as that is kept.
  private struct RequestIdentity: Equatable {
    let headers: HTTPHeaders.Identity
    let target: ObjectIdentifier

    init(_ request: HTTPRequest) {
      headers = request.headers.identity
      target = ObjectIdentifier(request.target)
    }
  }

  private struct State {
    /// What the caller has declared.
    var declared: [HTTPField] = []
    /// What was added since ``values`` were taken: most requests need no redactor.
    var sources: [Source] = []
    /// The last of the sources, if it is a request.
    var last: RequestIdentity?
    /// Of everything that went out before. Those of queries are kept apart, so that they take no token's place.
    var values = Values()
    var queryValues = Values()
    /// Those of the connections that the request shares with others.
    var others: [SentSecrets] = []
    var redactor: (value: Redactor, version: Int)?

    mutating func add(_ source: Source) {
      // A request goes out at least twice: as it was made, and with a token.
      if sources.isEmpty { sources.reserveCapacity(2) }
      sources.append(source)
      (last, redactor) = (nil, nil)
      if sources.count >= SentSecrets.sourceLimit { takeValues() }
    }

    /// Takes the values of what was added.
    mutating func takeValues() {
      values.take(sources.flatMap(\.secrets))
      queryValues.take(sources.flatMap(\.queryValues))
      (sources, last) = ([], nil)
    }
  }

  private let state: Locked<State>

  /// A subscription lasts long, and each attempt may have a new token: only so many values of earlier ones are kept.
  private static let limit = 256
  private static let sourceLimit = 16

  /// Takes what the caller declares.
  package init(declared: [HTTPField] = []) {
    state = Locked(State(declared: declared))
  }

  /// Adds a request as it goes out, unless it was the last that was added.
  package func add(_ request: HTTPRequest) {
    state.withLock { state in
      let identity = RequestIdentity(request)
      if state.last == identity { return }
      state.add(.request(request.headers, request.target))
      // Of what is no longer kept, another request may have the memory.
      state.last = state.sources.isEmpty ? nil : identity
    }
  }

  /// Adds the upgrade to a WebSocket.
  package func add(_ request: WebSocketRequest) { add(.texts(Redactor.secrets(of: request))) }

  /// Adds header fields.
  package func add(_ fields: some Sequence<HTTPField>) { add(.fields(Array(fields))) }

  /// Adds texts that are secrets in themselves.
  package func add(texts: some Sequence<String>) { add(.texts(texts.flatMap(Redactor.parts))) }

  /// Adds an address that the server has named, as by a redirect: its query, and what its path has that the request's
  /// own has not.
  package func add(_ url: URL, namedBy request: HTTPRequest) {
    let known = Set(request.url.path(percentEncoded: true).split(separator: "/"))
    let steps = url.path(percentEncoded: true).split(separator: "/").filter { !known.contains($0) }.map(String.init)
    add(.texts(Redactor.queryValues(of: url.absoluteString) + steps + steps.compactMap(\.percentDecoded)))
  }

  /// Adds what goes out on a connection that the request shares with others, also later.
  package func include(_ other: SentSecrets) {
    guard other !== self else { return }
    state.withLock { state in
      if !state.others.contains(where: { $0 === other }) { state.others.append(other) }
      // Connections follow one another; the last ones are enough.
      if state.others.count > 8 { state.others.removeFirst() }
    }
  }

  private func add(_ source: Source) {
    state.withLock { $0.add(source) }
  }

  /// Removes all of them from a text.
  package var redactor: Redactor {
    let (own, others) = state.withLock { state in
      let version = Redactor.version
      if let redactor = state.redactor, redactor.version == version { return (redactor.value, state.others) }
      state.takeValues()
      let redactor = Redactor(secrets: Redactor.secrets(of: state.declared) + state.values.all + state.queryValues.all)
      state.redactor = (redactor, version)
      return (redactor, state.others)
    }
    return others.isEmpty ? own : Redactor(joining: [own] + others.map(\.redactor))
  }
}

extension SentSecrets: CustomStringConvertible, CustomReflectable {
  package var description: String { Redactor.placeholder }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
