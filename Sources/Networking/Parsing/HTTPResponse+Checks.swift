public import HTTP

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

  /// The same for a media type that was read before.
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
