import Foundation
public import HTTP

extension HTTPResponse {
  /// Throws `httpStatus`, or `redirectRefused`, unless the status is one of success.
  public func requireSuccess() throws(RequestError) {
    let status = head.status
    guard !head.isSuccess else { return }
    if head.isRedirect {
      let target = head.headers["Location"].flatMap { URL(string: $0) }.map { " to \($0.shownSafely)" } ?? ""
      throw RequestError(
        .redirectRefused, "The server redirects\(target) (\(status)), which is not followed: use the final address.",
        status: status)
    }
    let hint =
      switch status {
      case 401: ": a valid token is needed."
      case 403: ": the token does not allow this."
      case 404: ": is the address right?"
      case 429: ": too many requests, try again later."
      case 500...599: ": the server has a problem, try again later."
      default: "."
      }
    throw RequestError(.httpStatus, "The server answered with status \(status)\(hint)", status: status)
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
