import HTTPClientCore
import Streams
import StrictJSON
import SystemBase

/// The batches in which the queries of a client and its copies gather.
///
/// Its mutable state, guarded by a lock: the batch that is open for each URL, header fields and account, and what was
/// learned of the server's limit.
final class QueryBatches: Sendable {
  /// What requests must have in common to be sent as one.
  private struct Key: Hashable, CustomReflectable {
    /// Those of other middlewares may have another account's token.
    let stack: MiddlewareStack
    let url: String
    let headers: HTTPHeaders
    let accounts: [RequestEntry.Account]

    /// What `dump` shows: no query of the URL, which may have secrets.
    var customMirror: Mirror { Mirror(self, children: ["headers": headers]) }
  }

  private struct State {
    var open: [Key: QueryBatch] = [:]
    /// The greatest number of queries in a batch, as far as refusals have told it.
    var limit = Int.max
  }

  private let state = Locked(State())

  /// Sends a query's request together with others.
  func send(
    _ request: HTTPRequest, recorder: SentSecrets, on client: APIClient, by settings: GraphQLBatching
  ) -> Observable<HTTPResponsePart> {
    let parts = Observable<HTTPResponsePart>.create { [self] observer in
      let key = Key(
        stack: client.stack, url: request.target.text, headers: request.headers,
        accounts: request.context.entry?.accounts.all ?? [])
      let member = QueryBatch.Member(request, recorder, observer)
      let (batch, count, isFull) = state.withLock { state in
        let batch = state.open[key] ?? QueryBatch(client, settings.scheduler, of: self)
        let count = batch.add(member)
        let isFull = count >= min(settings.limit, state.limit)
        state.open[key] = isFull ? nil : batch
        return (batch, count, isFull)
      }
      if isFull {
        batch.send()
      } else if count == 1 {
        _ = settings.scheduler.schedule(after: settings.interval) { [self] in
          state.withLock { if $0.open[key] === batch { $0.open[key] = nil } }
          batch.send()
        }
      }
      return Disposables.create { batch.remove(member) }
    }
    guard let total = request.timeouts.total else { return parts }
    return parts.deadline(total, scheduler: settings.scheduler) {
      RequestError.deadlinePassed(after: total, request.target, operationName: request.operationName, reached: .maybe)
    }
  }

  /// Halves the size of a batch that was refused for it, for all batches from now on. At 1, none gather.
  fileprivate func lowerLimit(afterRefusalOf count: Int) {
    state.withLock { $0.limit = min($0.limit, max(count / 2, 1)) }
  }
}

/// Queries that travel as one request, and come apart again.
///
/// Its mutable state, guarded by a lock: the members that are still there, and whether it was sent.
private final class QueryBatch: Sendable {
  /// One query.
  final class Member: Sendable {
    let request: HTTPRequest
    let recorder: SentSecrets
    let observer: AnyObserver<HTTPResponsePart>
    /// The exchange of this query alone.
    let exchange = DisposeBag()

    init(_ request: HTTPRequest, _ recorder: SentSecrets, _ observer: AnyObserver<HTTPResponsePart>) {
      self.request = request
      self.recorder = recorder
      self.observer = observer
    }
  }

  private struct State {
    /// How many were ever added.
    var count = 0
    var members: [Member] = []
    var isSent = false
  }

  private let batches: QueryBatches
  private let client: APIClient
  private let scheduler: any Scheduler
  private let start: Duration
  private let state = Locked(State())
  /// The exchange of all.
  private let exchange = DisposeBag()

  init(_ client: APIClient, _ scheduler: any Scheduler, of batches: QueryBatches) {
    self.batches = batches
    self.client = client
    self.scheduler = scheduler
    start = scheduler.now
  }

  /// Adds a query, before the batch is sent; returns how many were added.
  func add(_ member: Member) -> Int {
    state.withLock { state in
      state.members.append(member)
      state.count += 1
      return state.count
    }
  }

  /// Removes a query, which has ended or was cancelled; with the last one, the request is cancelled.
  func remove(_ member: Member) {
    let isOver = state.withLock { state in
      state.members.removeAll { $0 === member }
      return state.isSent && state.members.isEmpty
    }
    member.exchange.dispose()
    if isOver { exchange.dispose() }
  }

  /// Sends what is there, once: when it is full, or else when the interval is over.
  func send() {
    let members: [Member] = state.withLock { state in
      guard !state.isSent else { return [] }
      state.isSent = true
      return state.members
    }
    guard members.count > 1 else { return members.forEach(sendAlone) }
    let recorder = SentSecrets()
    let request = merged(members, recorder)
    // No error of a query may show any secret of the batch.
    for member in members { member.recorder.include(recorder) }
    let observers = members.compactMap { ObservedAttempt($0.request) }
    let sent = client.send(request, recorder: recorder, observers: observers)
      .collect(upTo: responseLimit(members.count))
      .subscribe(
        onNext: { self.distribute($0, to: members, of: request) }, onError: { self.fail(members, by: $0) })
    exchange.insert(sent)
  }

  /// The limit of a response is that of each query's.
  private func responseLimit(_ count: Int) -> Int {
    let (limit, isOver) = client.responseBodyLimit.multipliedReportingOverflow(by: count)
    return isOver ? .max : limit
  }

  /// Fails each query under its own name.
  private func fail(_ members: [Member], by error: any Error) {
    for member in members {
      var error = RequestError(wrapping: error)
      error.operationName = member.request.operationName
      member.observer.onError(error)
    }
  }

  /// Sends a query by itself after the batch, unless it has ended or was cancelled.
  private func sendAlone(_ member: Member, after batch: HTTPRequest) {
    if let entry = batch.context.entry { member.request.context.entry?.recordStep(after: entry) }
    sendAlone(member)
  }

  /// Sends a query by itself, unless it has ended or was cancelled.
  private func sendAlone(_ member: Member) {
    guard state.withLock({ state in state.members.contains { $0 === member } }) else { return }
    var request = member.request
    request.timeouts = request.timeouts.after(scheduler.now - start)
    member.exchange.insert(client.send(request, recorder: member.recorder).subscribe(member.observer))
  }

  /// One request for all; it may take as long as the most patient one.
  private func merged(_ members: [Member], _ recorder: SentSecrets) -> HTTPRequest {
    let requests = members.map(\.request)
    var merged = requests[0].withoutObservers
    merged.context.sent = recorder
    merged.body = requests.reduce(into: Data()) { list, request in
      list.append(UInt8(ascii: list.isEmpty ? "[" : ","))
      if let body = request.body { list.append(body) }
    }
    merged.body?.append(UInt8(ascii: "]"))
    func longest(_ path: KeyPath<HTTPTimeouts, Duration?>) -> Duration? {
      let durations = requests.compactMap { $0.timeouts[keyPath: path] }
      return durations.count == requests.count ? durations.max() : nil
    }
    merged.timeouts = HTTPTimeouts(connect: longest(\.connect), idle: longest(\.idle), total: longest(\.total))
      .after(scheduler.now - start)
    merged.operationName = Set(requests.compactMap(\.operationName)).sorted().joined(separator: "+").sanitized(
      upTo: 256)
    merged.isReplayable = requests.allSatisfy(\.isReplayable)
    return merged
  }

  private func distribute(_ response: HTTPResponse, to members: [Member], of request: HTTPRequest) {
    if response.isRefusedForItsSize {
      batches.lowerLimit(afterRefusalOf: members.count)
      return members.forEach { sendAlone($0, after: request) }
    }
    let parts: [Data]
    do throws(RequestError) {
      parts = try response.parts(ofBatch: members.count)
    } catch {
      return fail(members, by: error)
    }
    var head = response.head
    head.headers.remove("Content-Length")
    for (member, body) in zip(members, parts) {
      if !client.middlewares.isEmpty, body.isRefusedAlone {
        sendAlone(member, after: request)
      } else {
        member.observer.onNext(.head(head))
        member.observer.onNext(.body(body))
        member.observer.onCompleted()
      }
    }
  }
}

/// Reports the exchanges of a batch to the observer of one of its queries.
private struct ObservedAttempt: HTTPMiddleware {
  private let observation: RequestObservation
  private let onAttempt: (@Sendable (Int, inout HTTPRequest) -> Void)?
  var addedCredentials: AddedCredentials { .none }

  /// `nil` for a query that nobody observes.
  init?(_ query: HTTPRequest) {
    guard let observation = query.context.observation else { return nil }
    (self.observation, onAttempt) = (observation, query.onAttempt)
  }

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    var request = request
    request.onAttempt = onAttempt
    return observation.attempt(request, next)
  }
}

extension HTTPResponse {
  /// Whether the server would take the queries one by one, but not that many in one request.
  fileprivate var isRefusedForItsSize: Bool {
    let code = "BATCH_LIMIT_EXCEEDED"
    return head.status == 413 || body.errorsWithoutData(naming: code).contains { $0.code == code }
  }

  /// The bodies of the responses to `count` queries: the elements of a list, or, where the request failed as a whole,
  /// the same one for each. Throws `undecodable` for a list of another length, and for data that cannot be theirs.
  fileprivate func parts(ofBatch count: Int) throws(RequestError) -> [Data] {
    var elements: [Data]?
    var hasData = false
    do throws(JSONError) {
      try JSONReader.reading(body.bytes) { json throws(JSONError) in
        switch try json.nextKind() {
        case .array:
          var list: [Data] = []
          try json.beginArray()
          while try json.nextElement() { list.append(Data(try json.readRaw().bytes)) }
          elements = list
        case .object:
          try json.beginObject()
          while try json.nextKey() {
            if json.key(is: "data"), try !json.readNull() { hasData = true }
            try json.skipValue()
          }
        default: try json.skipValue()
        }
      }
    } catch {
      // No error of one query may quote what came for the others.
      if elements != nil || body.beginsList {
        throw RequestError(
          .undecodable,
          "The response to a batch of \(count) queries cannot be read: expected \(error.expected) at byte \(error.offset).",
          status: head.status)
      }
      // A proxy's page, for example: each query says what is wrong with it.
      return Array(repeating: body, count: count)
    }
    guard let elements else {
      if hasData { throw mismatch("one response to a batch of \(count) queries") }
      return Array(repeating: body, count: count)
    }
    if elements.count == count { return elements }
    // Some servers put the one error of all into a list.
    if elements.count == 1, !elements[0].errorsWithoutData(naming: "errors").isEmpty {
      return Array(repeating: elements[0], count: count)
    }
    guard head.isSuccess else { return Array(repeating: Data(), count: count) }
    throw mismatch("\(elements.count) responses to a batch of \(count) queries")
  }

  private func mismatch(_ text: String) -> RequestError {
    RequestError(
      .undecodable, "The server sent \(text): does it support batches?", status: head.status)
  }
}

extension Data {
  /// Whether it begins as a JSON list.
  fileprivate var beginsList: Bool { first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "[") }

  /// Whether the response to one query, in a batch where middlewares do not see it, is one that they act upon.
  fileprivate var isRefusedAlone: Bool {
    ([GraphQLError.unauthenticatedCode] + GraphQLErrors.throttlingCodes).contains { code in
      errorsWithoutData(naming: code).contains { $0.code == code }
    }
  }
}
