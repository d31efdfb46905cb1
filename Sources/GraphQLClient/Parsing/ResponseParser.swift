public import HTTPClientCore
public import StrictJSON
public import SystemBase

/// Turns a response into a value. A session chooses its parser by name:
///
///     var responseParser: ResponseParser<User> { .envelope(CodeMsgData.self) }
///
/// To add a format, add a value of this type; `accept` becomes the request's `Accept`:
///
///     extension ResponseParser where Output == [[String]] {
///       static var csv: Self { ResponseParser(accept: "text/csv") { response, _ in … } }
///     }
public struct ResponseParser<Output: Sendable>: Sendable {
  /// The request's `Accept`, unless the session's headers have one.
  public let accept: String

  private let read: @Sendable (HTTPResponse, any BodyDecoder, SentFields?) throws -> Output

  /// Makes a parser from its `Accept`, and a closure that parses a response of any status; it may use the client's
  /// decoder.
  ///
  /// The closure throws a `RequestError`, or any other error, such as a `DecodingError`, which becomes a `RequestError`
  /// of the kind `undecodable`.
  public init(accept: String, read: @escaping @Sendable (HTTPResponse, any BodyDecoder) throws -> Output) {
    self.init(accept: accept) { response, decoder, sent in
      let output = try read(response, decoder)
      return sent?.described(output) ?? output
    }
  }

  /// Makes a parser that also gets what was sent, if that is known: it sees to it that no error in its output shows a
  /// secret of it.
  init(accept: String, reading read: @escaping @Sendable (HTTPResponse, any BodyDecoder, SentFields?) throws -> Output)
  {
    self.accept = accept
    self.read = read
  }

  /// Parses a response; throws a `RequestError`.
  public func parse(_ response: HTTPResponse, by decoder: any BodyDecoder) throws(RequestError) -> Output {
    try parse(response, by: decoder, to: nil)
  }

  /// Parses the response to a request that was sent so: errors in the output are under its name, without its secrets.
  func parse(
    _ response: HTTPResponse, by decoder: any BodyDecoder, to sent: SentFields?
  ) throws(RequestError) -> Output {
    do {
      return try read(response, decoder, sent)
    } catch {
      throw RequestError(reading: error, status: response.head.status)
    }
  }
}

extension ResponseParser where Output: Decodable {
  /// JSON of a successful response; a missing or empty `Content-Type` counts as JSON. Another type, `text/plain` too,
  /// is `undecodable`.
  public static var json: Self {
    ResponseParser(accept: "application/json") { response, decoder in
      try response.requireSuccess()
      try response.requireJSON()
      return try decoder.decode(Output.self, from: response.body)
    }
  }
}

extension ResponseParser where Output == String {
  /// The body of a successful response as text, which must be UTF-8.
  public static var text: Self {
    ResponseParser(accept: "text/plain, */*;q=0.5") { response, _ in
      try response.requireSuccess()
      guard let text = String(validating: response.body, as: UTF8.self) else {
        throw RequestError(.undecodable, "The response is not UTF-8 text.", status: response.head.status)
      }
      return text
    }
  }
}

extension ResponseParser where Output == Data {
  /// The body of a successful response, as it is.
  public static var data: Self {
    ResponseParser(accept: "*/*") { response, _ in
      try response.requireSuccess()
      return response.body
    }
  }
}

extension ResponseParser where Output == HTTPResponse {
  /// The response as it is, whatever its status.
  public static var response: Self {
    ResponseParser(accept: "*/*") { response, _ in response }
  }
}

extension ResponseParser where Output == NoContent {
  /// A successful response whose body is ignored; the default for sessions whose response type is ``NoContent``.
  public static var noContent: Self {
    ResponseParser(accept: "*/*") { response, _ in
      try response.requireSuccess()
      return NoContent()
    }
  }
}

extension HTTPResponse {
  /// Throws `httpStatus` or `redirectRefused`, unless the status is a success.
  public func requireSuccess() throws(RequestError) {
    try head.requireSuccess()
  }

  /// Throws `undecodable` if the response has another `Content-Type` than JSON, or no body. A missing or empty
  /// `Content-Type` counts as JSON.
  public func requireJSON() throws(RequestError) {
    try requireJSON(mediaType: head.mediaType)
  }

  /// Checks a media type that was read before.
  func requireJSON(mediaType: String?) throws(RequestError) {
    if let type = mediaType, type != "application/json", type != "text/json", !type.hasSuffix("+json") {
      throw RequestError(
        .undecodable, "Expected JSON, but the server sent \(type): is the URL right?", status: head.status)
    }
    guard !body.isEmpty else {
      throw RequestError(.undecodable, "Expected JSON, but the response body is empty.", status: head.status)
    }
  }
}

/// The response type of a session whose response has no content of interest.
public struct NoContent: Hashable, Sendable, Decodable {
  /// Makes the only value.
  public init() {}

  /// Ignores whatever is there, for use as the content of an envelope.
  public init(from decoder: any Decoder) {}
}

extension NoContent: JSONDecodable {
  /// Ignores whatever is there, for use as the content of an envelope.
  public init(from json: inout JSONReader) throws(JSONError) {
    try json.skipValue()
  }
}

extension APISession where ResponseType == NoContent {
  /// Requires success only.
  public var responseParser: ResponseParser<NoContent> { .noContent }
}
