import Streams

/// A response that was held back and not passed on; it is given after all if nothing better arrives.
struct RefusedResponse: Error {
  let response: HTTPResponse
  let isWhole: Bool

  /// The response, or an error if part of it is missing.
  var stream: Observable<HTTPResponsePart> {
    guard isWhole else {
      let status = response.head.status
      return .error(
        RequestError(
          .httpStatus, "The server answered with status \(status), and the response was too long to be held back.",
          status: status))
    }
    return .from(response.parts)
  }
}
