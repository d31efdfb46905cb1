public import Foundation
public import HTTP

/// Turns a response into a value. A session chooses its parser by name:
///
///     var responseParser: ResponseParser<User> { .envelope(CodeMsgData.self) }
///
/// Another format is another value of this type; `accept` is what the request then asks for:
///
///     extension ResponseParser where Output == [[String]] {
///       static var csv: Self { ResponseParser(accept: "text/csv") { response, _ in … } }
///     }
public struct ResponseParser<Output: Sendable>: Sendable {
  /// What the request's `Accept` says, unless the session's headers say otherwise.
  public let accept: String

  private let read: @Sendable (HTTPResponse, any BodyDecoder) throws -> Output

  /// Takes what to accept, and the closure that reads an answer of any status, given the client's decoder.
  ///
  /// The closure throws a `RequestError`, or a `DecodingError`, which becomes one of the kind `undecodable`.
  public init(accept: String, read: @escaping @Sendable (HTTPResponse, any BodyDecoder) throws -> Output) {
    self.accept = accept
    self.read = read
  }

  /// Reads an answer; throws a `RequestError`.
  public func parse(_ response: HTTPResponse, by decoder: any BodyDecoder) throws(RequestError) -> Output {
    do {
      return try read(response, decoder)
    } catch let error as RequestError {
      throw error
    } catch {
      let failure = DecodingFailure(error)
      throw RequestError(.undecodable, failure.description, status: response.head.status, cause: failure)
    }
  }
}

extension ResponseParser where Output: Decodable {
  /// JSON of an answer with a status of success; a missing `Content-Type` is taken for JSON.
  public static var json: Self {
    ResponseParser(accept: "application/json") { response, decoder in
      try response.requireSuccess()
      try response.requireJSON()
      return try decoder.decode(Output.self, from: response.body)
    }
  }
}

extension ResponseParser where Output == String {
  /// The body of a successful answer as text, which must be UTF-8.
  public static var text: Self {
    ResponseParser(accept: "text/plain, */*;q=0.5") { response, _ in
      try response.requireSuccess()
      guard let text = String(validating: response.body, as: UTF8.self) else {
        throw RequestError(.undecodable, "The answer is not text in UTF-8.", status: response.head.status)
      }
      return text
    }
  }
}

extension ResponseParser where Output == Data {
  /// The body of a successful answer as it is.
  public static var data: Self {
    ResponseParser(accept: "*/*") { response, _ in
      try response.requireSuccess()
      return response.body
    }
  }
}

extension ResponseParser where Output == HTTPResponse {
  /// The answer as it is, whatever its status.
  public static var response: Self {
    ResponseParser(accept: "*/*") { response, _ in response }
  }
}

extension ResponseParser where Output == NoContent {
  /// A successful answer whose body does not matter; what sessions of ``NoContent`` take unless they say otherwise.
  public static var noContent: Self {
    ResponseParser(accept: "*/*") { response, _ in
      try response.requireSuccess()
      return NoContent()
    }
  }
}
