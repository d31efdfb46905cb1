import Foundation

extension HTTPResponseHead {
  /// Throws `redirectRefused` for a redirect, and `httpStatus` for any other status outside 200 to 299.
  package func requireSuccess() throws(RequestError) {
    guard !isSuccess else { return }
    if isRedirect {
      let target = headers["Location"].flatMap { URL(string: $0) }.map { " to \($0.shownSafely)" } ?? ""
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
      case 500...: ": the server has a problem, try again later."
      default: "."
      }
    throw RequestError(.httpStatus, "The server answered with status \(status)\(hint)", status: status)
  }
}
