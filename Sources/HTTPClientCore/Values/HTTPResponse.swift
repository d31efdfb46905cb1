public import SystemBase

/// A complete response: head, body and trailers.
public struct HTTPResponse: Hashable, Sendable {
  /// The status and the header fields.
  public var head: HTTPResponseHead

  /// The whole body; empty if there is none.
  public var body: Data

  /// The fields behind the body (RFC 9110, section 6.5), which say nothing about the message itself; empty if there are none.
  public var trailers: HTTPHeaders

  /// Makes a response.
  public init(head: HTTPResponseHead, body: Data = Data(), trailers: HTTPHeaders = HTTPHeaders()) {
    self.head = head
    self.body = body
    self.trailers = trailers
  }

  /// Makes a response from a status, header fields and a body.
  public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.init(head: HTTPResponseHead(status: status, headers: headers), body: body)
  }
}

/// The head of a response: its final status and its header fields.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The status code; from a transport, it has three digits.
  public var status: Int

  /// The header fields, as the server sent them.
  public var headers: HTTPHeaders {
    didSet { isPlainJSON = headers.sayPlainJSON }
  }

  /// Where the response came from: the network, unless a middleware says otherwise.
  public var source = HTTPResponseSource.network

  /// What the headers say of the media type, which several middlewares ask of each response.
  private var isPlainJSON: Bool

  /// Makes a head.
  public init(status: Int, headers: HTTPHeaders = HTTPHeaders()) {
    self.status = status
    self.headers = headers
    isPlainJSON = headers.sayPlainJSON
  }

  /// Whether the status means success: 200 to 299.
  public var isSuccess: Bool { (200...299).contains(status) }

  /// Whether the status is a redirect to another address (RFC 9110, section 15.4): 301, 302, 303, 307 or 308.
  package var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// Whether a body may follow (RFC 9110, section 6.4.1).
  package func mayHaveBody(toHead isHead: Bool) -> Bool { !isHead && status != 204 && status != 304 }

  /// The media type of `Content-Type`, in lower case and without parameters; `nil` if there is none.
  public var mediaType: String? {
    guard let value = headers.first(where: { $0.hasName("Content-Type") })?.value else { return nil }
    guard !value.utf8.allSatisfy(\.isPlainInMediaType) else { return value.isEmpty ? nil : value }
    let type = value.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != .space && $0 != .tab }
    return type.isEmpty ? nil : String(decoding: type.map { $0.isUpperCase ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}

extension HTTPResponse: CustomStringConvertible {
  /// The head, and the size of the body; not what the body says, which may be secret.
  public var description: String { "\(head)\n\n\(body.count) bytes" }
}

extension HTTPResponseHead: CustomStringConvertible {
  /// The status, and the fields, one per line, with values redacted that may be secret.
  public var description: String { headers.isEmpty ? "\(status)" : "\(status)\n\(headers)" }
}

extension HTTPResponseHead {
  /// Whether the body is a JSON document, by its media type: `application/json`, `text/json`, or a type with the suffix
  /// `+json` (RFC 6839, section 3.1). Lines or sequences of documents are not.
  package var isJSON: Bool {
    isPlainJSON || mediaType.map { $0 == "application/json" || $0 == "text/json" || $0.hasSuffix("+json") } ?? false
  }

  /// Whether the media type is one of a response that is read as it arrives, and may never end.
  package var isEndless: Bool {
    !isPlainJSON && mediaType.map { $0 == "text/event-stream" || $0.hasPrefix("multipart/") } ?? false
  }
}

extension HTTPHeaders {
  /// Whether the media type is JSON's, and written as most servers do: to take another value apart takes far longer.
  fileprivate var sayPlainJSON: Bool {
    guard let index = firstIndex(of: "Content-Type", from: 0) else { return false }
    let value = self[index].value
    return value == "application/json" || value == "application/json; charset=utf-8"
  }
}

extension UInt8 {
  /// Whether this byte appears in a media type just as in the field's value: not white space, `;` or an upper-case
  /// letter.
  fileprivate var isPlainInMediaType: Bool { self > .space && self != UInt8(ascii: ";") && !isUpperCase }
}

extension HTTPResponseHead {
  /// Throws `redirectRefused` for a redirect, and `httpStatus` for any other status outside 200 to 299.
  package func requireSuccess() throws(RequestError) {
    guard !isSuccess else { return }
    if isRedirect {
      // Of the address only the origin: the path may hold a token, as that of a page to reset a password does.
      let url = headers["Location"].flatMap { URL(string: $0) }
      let target = url.flatMap { $0.host() == nil ? nil : " to '\(HTTPOrigin(of: $0))'" } ?? ""
      throw RequestError(
        .redirectRefused, "The server redirects\(target) (\(status)), which is not followed: use the final address.",
        status: status)
    }
    let hint =
      switch status {
      case 401: ": a valid token is needed."
      case 403: ": the token does not allow this."
      case 404: ": is the address right?"
      case 405: ": it does not take this method at this address."
      case 413: ": the request is too large for it."
      case 429: ": too many requests, try again later."
      case 500...: ": the server has a problem, try again later."
      default: "."
      }
    throw RequestError(.httpStatus, "The server responded with status \(status)\(hint)", status: status)
  }
}

/// Where a response came from. Cases may be added, so a `switch` over them needs a `default`.
@nonexhaustive
public enum HTTPResponseSource: Hashable, Sendable {
  /// The server, or a cache on the way to it.
  case network

  /// A cache in this process. Its age is the time since the origin server made it or last confirmed it (RFC 9111,
  /// section 4.2.3). If it is stale, that was allowed by the server or the request.
  case cache(age: Duration, isStale: Bool)

  /// A cache in this process, after the server has confirmed by status 304 that it is still current.
  case validatedCache
}

/// A part of a response: first one head, then any number of pieces of the body, none of them empty, and then the trailers, if
/// there are some.
public enum HTTPResponsePart: Hashable, Sendable {
  /// The final head; interim responses (1xx) are left out.
  case head(HTTPResponseHead)

  /// The next piece of the body, with transfer and content codings removed.
  case body(Data)

  /// The fields behind the body (RFC 9110, section 6.5), the last part. Not every transport gives them: `SocketTransport` does,
  /// in HTTP/1.1 and HTTP/2. Caches and cassettes do not keep them.
  case trailers(HTTPHeaders)
}

extension HTTPResponse {
  /// The response as the parts that a transport sends: for a middleware that responds itself, or has read a response.
  public var parts: [HTTPResponsePart] {
    var parts: [HTTPResponsePart] = body.isEmpty ? [.head(head)] : [.head(head), .body(body)]
    if !trailers.isEmpty { parts.append(.trailers(trailers)) }
    return parts
  }

  /// Calls a closure with each of the parts.
  package func forEachPart(_ body: (HTTPResponsePart) -> Void) {
    body(.head(head))
    if !self.body.isEmpty { body(.body(self.body)) }
    if !trailers.isEmpty { body(.trailers(trailers)) }
  }
}

extension HTTPResponsePart {
  /// Whether it is a head with which the total deadline stops counting of a request that is read in this way.
  package func mayOutlastTotal(_ reading: HTTPRequest.Reading) -> Bool {
    if case .head(let head) = self { reading.mayOutlastTotal(head) } else { false }
  }
}
