import Streams

/// An answer that was not passed on, and is the one to give where nothing better comes.
struct RefusedResponse: Error {
  /// How much of a body to hold back at most, of an answer that is likely to be refused.
  static let bodyLimit = 64 << 10

  let response: HTTPResponse
  var isWhole = true

  /// The answer, or an error in the place of one of which a part is missing.
  var stream: Observable<HTTPResponsePart> {
    guard isWhole else {
      let status = response.head.status
      return .error(
        RequestError(
          .httpStatus, "The server answered with status \(status), and the answer was too long to be kept.",
          status: status))
    }
    return .from(response.parts)
  }
}
