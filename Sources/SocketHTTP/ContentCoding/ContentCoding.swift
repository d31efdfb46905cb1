package import HTTPClientCore
import SystemBase

/// A content coding that can be decoded (RFC 9110, section 8.4.1).
package enum ContentCoding: Hashable, Sendable {
  /// RFC 1952; also known by its old name `x-gzip`.
  case gzip

  /// RFC 1950 (zlib), and also RFC 1951 without the zlib wrapper, which some servers send and browsers accept.
  case deflate

  /// The value of `Accept-Encoding`: `identity` if the system has no zlib.
  package static var accepted: String {
    accepted(hasLibrary: Inflater.isAvailable)
  }

  package static func accepted(hasLibrary: Bool) -> String {
    hasLibrary ? "gzip, deflate" : "identity"
  }

  /// The coding of a response with these headers; `nil` if the body is not coded.
  ///
  /// Throws `badResponse` for any other coding, and for more than one.
  package init?(of headers: HTTPHeaders, hasLibrary: Bool = Inflater.isAvailable) throws(RequestError) {
    guard headers.contains("Content-Encoding") else { return nil }
    let codings = headers.values(of: "Content-Encoding")
      .flatMap(\.listElements)
      .filter { $0 != "identity" }
    if codings.isEmpty { return nil }
    switch (codings, hasLibrary) {
    case (["gzip"], true), (["x-gzip"], true): self = .gzip
    case (["deflate"], true): self = .deflate
    default:
      throw RequestError(
        .badResponse,
        "The response is coded as '\(codings.joined(separator: ", "))', which is not supported: leave out Accept-Encoding."
      )
    }
  }
}

/// What becomes of the body of a response whose content coding cannot be decoded, such as `br`, which some servers
/// store and send to everybody.
public enum UndecodableBodies: Hashable, Sendable {
  /// The body is passed on as it is; the head names its coding in `Content-Encoding`.
  case passedOn

  /// The request fails with `badResponse` and the response's status. A response whose status is no success is passed on
  /// all the same, since its status says more.
  case refused
}

/// Decodes the content coding of a response on its way to the observer, piece by piece: no more of a decompression bomb
/// is decoded than the observer takes.
///
/// Not thread-safe.
final class ResponseDecoding {
  private var inflater: Inflater?
  private let isHead: Bool
  private let asksForRaw: Bool
  private let undecodable: UndecodableBodies

  /// Makes a decoder for the response to a request. A response to HEAD has no body, whatever its head says; one to a
  /// request for `identity` alone is passed on as it is.
  init(_ request: HTTPRequest, undecodable: UndecodableBodies = .passedOn) {
    isHead = request.method == .head
    let accepted = request.headers.values(of: "Accept-Encoding").flatMap(\.listElements)
    asksForRaw = accepted == ["identity"]
    self.undecodable = undecodable
  }

  /// Decodes a part, and calls `emit` with one piece after the other for as long as it returns `true`; throws if the
  /// bytes are not in the coding that the response declares.
  func decode(_ part: HTTPResponsePart, _ emit: (HTTPResponsePart) -> Bool) throws(RequestError) {
    switch part {
    case .head(let head):
      if let coding = try coding(of: head) { inflater = try Inflater(coding) }
      _ = emit(part)
    case .body(let piece):
      guard let inflater else {
        _ = emit(part)
        return
      }
      inflater.add(piece)
      while let decoded = try inflater.next(), emit(.body(decoded)) {}
    case .trailers: _ = emit(part)
    }
  }

  /// The coding to decode; `nil` if the body is passed on as it is. A part of a coded body cannot be decoded (RFC 9110,
  /// section 14.4: a range is one of the coded representation).
  private func coding(of head: HTTPResponseHead) throws(RequestError) -> ContentCoding? {
    guard head.mayHaveBody(toHead: isHead), head.status != 206, !asksForRaw else { return nil }
    do {
      return try ContentCoding(of: head.headers)
    } catch {
      guard undecodable == .refused, head.isSuccess else { return nil }
      var error = error
      error.status = head.status
      throw error
    }
  }

  /// Call this at the end; throws if the compressed body is cut off.
  func finish() throws(RequestError) {
    try inflater?.finish()
  }
}
