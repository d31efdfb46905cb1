public import HTTP

extension HTTPResponse {
  /// Throws `httpStatus`, or `redirectRefused`, unless the status is one of success.
  public func requireSuccess() throws(RequestError) {
    try head.requireSuccess()
  }

  /// Throws `undecodable` where the answer says that it is no JSON, or has no body.
  public func requireJSON() throws(RequestError) {
    try requireJSON(mediaType: head.mediaType)
  }

  /// The same for a media type that was looked up before.
  func requireJSON(mediaType: String?) throws(RequestError) {
    if let type = mediaType, type != "application/json", type != "text/json", !type.hasSuffix("+json") {
      throw RequestError(
        .undecodable, "Expected JSON, and the server sent \(type): is the address right?", status: head.status)
    }
    guard !body.isEmpty else {
      throw RequestError(.undecodable, "Expected JSON, and the answer's body is empty.", status: head.status)
    }
  }
}
