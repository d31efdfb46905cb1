public import HTTPClientCore
public import Streams
import StrictJSON
import SystemBase

/// The response to a GraphQL operation with `@defer` or `@stream`, as far as it has arrived.
public struct IncrementalResponse<ResponseData: Sendable>: Sendable {
  /// The data merged so far, and the errors and extensions that came with it.
  public let response: GraphQLResponse<ResponseData>

  /// Whether it is the whole response: only then keep it.
  public let isComplete: Bool

  /// The data merged so far.
  public var data: ResponseData { response.data }

  /// Makes a response, for fixtures and other transports.
  public init(_ response: GraphQLResponse<ResponseData>, isComplete: Bool) {
    self.response = response
    self.isComplete = isComplete
  }
}

extension IncrementalResponse: Equatable where ResponseData: Equatable {}

extension GraphQLSession {
  /// Sends an operation with `@defer` or `@stream`: a cold stream of its response as it grows, each time with all data
  /// so far. The last one is complete. Disposing it cancels the request.
  ///
  ///     struct GetFeed: GraphQLSession {
  ///       struct ResponseData: Decodable, Sendable { let user: User }
  ///       struct User: Decodable, Sendable { let name: String, likes: Deferred<Likes> }
  ///       struct Likes: Decodable, Sendable { let likeCount: Int }
  ///       static let query: GraphQLDocument =
  ///         "query feed { user { name ... @defer(label: \"likes\") { likeCount } } }"
  ///     }
  ///     GetFeed().responses(on: client).subscribe(onNext: { show($0.data) })
  ///
  /// A fragment with a label is read as ``Deferred``; other parts are in the data once they have arrived, so that what an
  /// unlabelled fragment selects is optional. What arrives together gives one element. Since each has all data, and they
  /// are decoded each time, a long response has fewer elements than parts: once eight times as much has been decoded as has
  /// arrived, and 4 MiB, elements are a tenth of a second apart. `post(on:)` and `data(on:)` give the complete response
  /// alone, which is what to keep in a store.
  ///
  /// The response is multipart (draft specification of incremental delivery, and its predecessors of 2022 and 2020); a
  /// server that ignores the directives sends one JSON response, which is one element. `Accept` asks for all of these,
  /// unless the session's `headers` contain it; with `text/event-stream` there, the same parts come as server-sent
  /// events. Numbers keep their digits.
  ///
  /// The error policy applies to each element: with `none`, any error, also of a deferred fragment, ends the stream. If
  /// the response ends too early, or cannot be read any further, the stream fails with a `RequestError` whose `cause` is
  /// an ``IncompleteResponse`` with the last element: `connectionLost` for a cut, `badResponse` for parts that do not fit,
  /// `tooLarge` if all parts are larger than the client's `responseBodyLimit`. Interceptors are not used. It calls back
  /// as `post(on:)` does.
  public func responses(
    on client: APIClient, method: HTTPMethod = .post
  ) -> Observable<IncrementalResponse<ResponseData>> {
    .deferred {
      let plan = Self.query.incrementalPlan(named: operationName) ?? IncrementalPlan()
      return try client.exchange(self, method, readsWholeResponse: false) { parts, sent in
        let reader = IncrementalReader<ResponseData>(
          plan, errorPolicy, client.decoder, limit: client.responseBodyLimit, without: sent.sent)
        let last = Locked<IncrementalResponse<ResponseData>?>(nil)
        return reader.responses(of: parts, scheduler: ElasticScheduler())
          .map { IncrementalResponse(sent.described($0.response), isComplete: $0.isComplete) }
          .do(onNext: { response in last.withLock { $0 = response } })
          .catch { error in
            let last = last.withLock { $0 }
            // What goes wrong behind the last part takes nothing away.
            if last?.isComplete == true { return .empty() }
            throw RequestError(reading: error).keeping(last)
          }
      }
    }
  }
}

extension ResponseParser {
  /// The complete response to the operation of a document that has this name, or to its only one.
  package static func graphQL<ResponseData: Decodable & Sendable>(
    _ policy: GraphQLErrorPolicy, of name: String, in document: GraphQLDocument
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    if let plan = document.incrementalPlan(named: name) { return .incremental(plan, policy) }
    return .graphQL(policy)
  }

  /// The complete response to an operation with `@defer` or `@stream`, in one part or in many.
  private static func incremental<ResponseData: Decodable & Sendable>(
    _ plan: IncrementalPlan, _ policy: GraphQLErrorPolicy
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    ResponseParser(accept: GraphQLHeaders.incremental) { response, decoder, sent in
      var reader = IncrementalReader<ResponseData>(
        plan, policy, decoder, limit: .max, without: sent?.sent ?? SentSecrets())
      var last: IncrementalResponse<ResponseData>?
      do {
        for part in response.parts { try reader.read(part) { last = $0 } }
        try reader.finish { last = $0 }
      } catch {
        throw RequestError(reading: error).keeping(last)
      }
      guard let last else { throw RequestError(.badResponse, "The response has no parts.") }
      return sent?.described(last.response) ?? last.response
    }
  }
}

/// What has arrived of a response that was cut off: the cause of a `RequestError`. Do not keep it as a whole response.
public struct IncompleteResponse<ResponseData: Sendable>: Error, CustomStringConvertible {
  /// The last that was merged.
  public let response: GraphQLResponse<ResponseData>

  /// The cause that the error would have without this one.
  public let cause: (any Error)?

  /// That it is incomplete, and why, if that is known.
  public var description: String { "The response is incomplete." + (cause.map { " \($0)" } ?? "") }
}

extension IncompleteResponse: Equatable where ResponseData: Equatable {
  /// Whether responses and causes are equal. Causes count as equal if they are of one type and have one description.
  public static func == (left: IncompleteResponse, right: IncompleteResponse) -> Bool {
    left.response == right.response && left.cause.isSame(as: right.cause)
  }
}

extension IncompleteResponse: CustomReflectable {
  /// What `dump` shows: not the data, which may repeat what the request contained.
  public var customMirror: Mirror { Mirror(self, children: [(label: "description", value: description)]) }
}

extension IncompleteResponse: RedactableCause {
  package func redacted(by redactor: Redactor) -> IncompleteResponse {
    IncompleteResponse(
      response: GraphQLResponse(
        data: response.data, errors: GraphQLErrors(response.errors).redacted(by: redactor).errors,
        extensions: response.extensions?.redacted(by: redactor), operationName: response.operationName),
      cause: (cause as? any RedactableCause)?.redacted(by: redactor) ?? cause)
  }
}

extension RequestError {
  /// The error with what came before it. The GraphQL errors of a response are the cause themselves.
  fileprivate func keeping<ResponseData>(_ last: IncrementalResponse<ResponseData>?) -> RequestError {
    guard let last, kind != .graphQL else { return self }
    var error = self
    error.cause = IncompleteResponse(response: last.response, cause: cause)
    return error
  }
}

/// Reads a response that arrives in parts, split anywhere, or in one.
struct IncrementalReader<ResponseData: Decodable & Sendable>: Sendable {
  private enum Body: Sendable {
    case none
    case multipart(MultipartParser)
    case events(EventStreamParser)
    case whole(HTTPResponse)
  }

  private let policy: GraphQLErrorPolicy
  private let decoder: any BodyDecoder
  private let limit: Int
  private var body = Body.none
  private var count = 0
  private var merger: IncrementalMerger
  /// Whether something has been merged that has not been passed on.
  private(set) var hasGrown = false
  /// How many bytes have been decoded, over and over.
  private(set) var decodedCount = 0

  /// How much more may be decoded than has arrived.
  private static var decodedFactor: Int { 8 }
  private static var decodedFloor: Int { 4 << 20 }

  init(
    _ plan: IncrementalPlan, _ policy: GraphQLErrorPolicy, _ decoder: any BodyDecoder, limit: Int,
    without sent: SentSecrets
  ) {
    (self.policy, self.decoder, self.limit) = (policy, decoder, limit)
    merger = IncrementalMerger(plan, without: sent)
  }

  /// Takes the next part, and passes on the response if it has grown: once, whatever has come together, since all data
  /// are decoded each time. If too much has been decoded already, it stays to be passed on. What came before an error is
  /// passed on, too.
  mutating func read(
    _ part: HTTPResponsePart, _ emit: (IncrementalResponse<ResponseData>) -> Void
  ) throws {
    do {
      try merge(part)
    } catch {
      try? passOn(emit)
      throw error
    }
    let isCheap = decodedCount + count <= Self.decodedFactor * count + Self.decodedFloor
    if isCheap || merger.isComplete { try passOn(emit) }
  }

  /// Passes on the response if it has grown.
  mutating func passOn(_ emit: (IncrementalResponse<ResponseData>) -> Void) throws {
    guard hasGrown else { return }
    hasGrown = false
    decodedCount += count
    emit(try response())
  }

  private mutating func merge(_ part: HTTPResponsePart) throws {
    guard case .body(let piece) = part else {
      if case .head(let head) = part { begin(head) }
      return
    }
    count += piece.count
    guard count <= limit else {
      throw RequestError(.tooLarge, "The response is larger than \(limit) bytes.")
    }
    switch body {
    case .multipart(var parser):
      body = .none
      defer { body = .multipart(parser) }
      for part in try parser.consume(piece) where !part.body.isEmpty { try merge(part.body) }
      if let failure = parser.failure { throw failure }
      if parser.isComplete { try complete() }
    case .events(var parser):
      body = .none
      defer { body = .events(parser) }
      for event in try parser.consume(piece) {
        switch event.content {
        case .payload(let text): try merge(text)
        case .errors(let errors): throw RequestError(graphQL: errors, besideData: merger.hasData)
        case .complete: try complete()
        case .nothing: break
        }
      }
      if let failure = parser.failure { throw failure }
    case .whole(var whole):
      body = .none
      whole.body += piece
      body = .whole(whole)
    case .none: break
    }
  }

  private mutating func complete() throws {
    guard !merger.isComplete else { return }
    try merger.finish()
    if merger.isComplete { hasGrown = true }
  }

  private mutating func begin(_ head: HTTPResponseHead) {
    if head.isSuccess, let boundary = head.multipartBoundary {
      body = .multipart(MultipartParser(boundary: boundary, limit: limit, endsWithJSON: true))
    } else if head.isSuccess, head.mediaType == "text/event-stream" {
      body = .events(EventStreamParser(limit: limit))
    } else {
      body = .whole(HTTPResponse(head: head))
    }
  }

  private mutating func merge(_ text: Data) throws {
    guard !merger.isComplete else { return }
    let payload = try IncrementalPayload(json: text.bytes)
    if payload.isHeartbeat { return }
    try merger.merge(payload)
    hasGrown = true
  }

  /// The body has ended.
  mutating func finish(_ emit: (IncrementalResponse<ResponseData>) -> Void) throws {
    try passOn(emit)
    if case .whole(let whole) = body {
      let last = try whole.readGraphQL { body in
        try merger.merge(IncrementalPayload(json: body.bytes))
        try merger.finish()
        return try response()
      }
      if merger.isComplete { emit(last) }
    }
    guard merger.isComplete else {
      throw RequestError(.connectionLost, "The response ended before all of its parts had arrived.")
    }
  }

  private func response() throws -> IncrementalResponse<ResponseData> {
    var data: ResponseData?
    if let merged = merger.decodableData, merged != .null {
      let text = try merged.json()
      do { data = try decoder.decode(orKeepAs: ResponseData.self, from: text) } catch {
        // As in a whole response, errors say more than what is missing because of them.
        guard !merger.errors.isEmpty else { throw DecodingFailure(error).inside("data") }
        throw RequestError(graphQL: merger.errors, besideData: true)
      }
    }
    let response = try GraphQLResponse(
      data: data, errors: merger.errors, extensions: merger.extensions, policy: policy)
    return IncrementalResponse(response, isComplete: merger.isComplete)
  }
}

extension IncrementalReader {
  private enum Input: Sendable {
    case part(HTTPResponsePart)
    /// It is time to pass on what has grown.
    case turn
    case end((any Error)?)
  }

  /// How far elements are apart once too much has been decoded.
  private static var interval: Duration { .milliseconds(100) }

  /// The responses in a stream of parts.
  func responses(
    of parts: Observable<HTTPResponsePart>, scheduler: any Scheduler
  ) -> Observable<IncrementalResponse<ResponseData>> {
    .deferred {
      let turns = PublishSubject<Void>()
      let ended = PublishSubject<Void>()
      let inputs = parts.map { Input.part($0) }.concat(.just(.end(nil))).catch { .just(.end($0)) }
      let all = Observable.merge(inputs, turns.asObservable().map { Input.turn })
      return all.transform((reader: self, hasTurn: false)) { state, input, emit in
        switch input {
        case .part(let part): try state.reader.read(part, emit)
        case .turn:
          state.hasTurn = false
          try state.reader.passOn(emit)
        case .end(nil):
          try state.reader.finish(emit)
          return ended.onNext(())
        case .end(let error?):
          try? state.reader.passOn(emit)
          throw error
        }
        guard state.reader.hasGrown, !state.hasTurn else { return }
        state.hasTurn = true
        _ = scheduler.schedule(after: Self.interval) { turns.onNext(()) }
      } finishing: { _, _ in
      }
      .take(until: ended.asObservable())
    }
  }
}
