public import HTTP
import JSON
import Platform
public import Streams

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
  /// unlabelled fragment selects is optional. What arrives together gives one element. `post(on:)` and `data(on:)` give
  /// the complete response alone, which is what to keep in a store.
  ///
  /// The response is multipart (draft specification of incremental delivery, and its predecessors of 2022 and 2020); a
  /// server that ignores the directives sends one JSON response, which is one element. `Accept` asks for all of these,
  /// unless the session's `headers` contain it; with `text/event-stream` there, the same parts come as server-sent
  /// events. Numbers are merged as 64-bit integers and doubles.
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
          plan, errorPolicy, client.decoder, limit: client.responseBodyLimit)
        let last = Locked<IncrementalResponse<ResponseData>?>(nil)
        return parts.transform(reader) { reader, part, emit in
          try reader.read(part, emit)
        } finishing: { reader, emit in
          try reader.finish(emit)
        }
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
    document.incrementalPlan(named: name).map { .incremental($0, policy) } ?? .graphQL(policy)
  }

  /// The complete response to an operation with `@defer` or `@stream`, in one part or in many.
  private static func incremental<ResponseData: Decodable & Sendable>(
    _ plan: IncrementalPlan, _ policy: GraphQLErrorPolicy
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    ResponseParser(accept: GraphQLHeaders.incremental) { response, decoder in
      var reader = IncrementalReader<ResponseData>(plan, policy, decoder, limit: .max)
      var last: IncrementalResponse<ResponseData>?
      do {
        for part in response.parts { try reader.read(part) { last = $0 } }
        try reader.finish { last = $0 }
      } catch {
        throw RequestError(reading: error).keeping(last)
      }
      guard let last else { throw RequestError(.badResponse, "The response has no parts.") }
      return last.response
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

extension IncompleteResponse: RedactableCause {
  func redacted(by redactor: Redactor) -> IncompleteResponse {
    IncompleteResponse(response: response, cause: (cause as? any RedactableCause)?.redacted(by: redactor) ?? cause)
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
  private var hasGrown = false

  init(_ plan: IncrementalPlan, _ policy: GraphQLErrorPolicy, _ decoder: any BodyDecoder, limit: Int) {
    (self.policy, self.decoder, self.limit) = (policy, decoder, limit)
    merger = IncrementalMerger(plan)
  }

  /// Takes the next part, and passes on the response if it has grown: once, whatever has come together, since all data
  /// are decoded each time. What came before an error is passed on, too.
  mutating func read(
    _ part: HTTPResponsePart, _ emit: (IncrementalResponse<ResponseData>) -> Void
  ) throws {
    defer { hasGrown = false }
    do {
      try merge(part)
    } catch {
      if hasGrown, let grown = try? response() { emit(grown) }
      throw error
    }
    if hasGrown { emit(try response()) }
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
      let parts = try parser.consume(piece)
      body = .multipart(parser)
      for part in parts where !part.body.isEmpty { try merge(part.body) }
    case .events(var parser):
      body = .none
      let events = try parser.consume(piece)
      body = .events(parser)
      for event in events where event.type == "next" { try merge(Data((event.data ?? "").utf8)) }
    case .whole(var whole):
      body = .none
      whole.body += piece
      body = .whole(whole)
    case .none: break
    }
  }

  private mutating func begin(_ head: HTTPResponseHead) {
    if head.isSuccess, let boundary = head.multipartBoundary {
      body = .multipart(MultipartParser(boundary: boundary, limit: limit, isWhole: { $0.isWholeJSONObject }))
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
    if case .whole(let whole) = body {
      let last = try whole.readGraphQL { body in
        try merger.merge(IncrementalPayload(json: body.bytes))
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
      do { data = try decoder.decode(ResponseData.self, from: text) } catch {
        // As in a whole response, errors say more than what is missing because of them.
        if merger.errors.isEmpty { throw DecodingFailure(error).inside("data") }
      }
    }
    let response = try GraphQLResponse(
      data: data, errors: merger.errors, extensions: merger.extensions, policy: policy)
    return IncrementalResponse(response, isComplete: merger.isComplete)
  }
}
