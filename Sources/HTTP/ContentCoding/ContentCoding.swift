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
