/// Which requests to respond to, and with what.
struct Expectation<Response: Sendable>: Sendable {
  /// Identifies it within its script.
  let number: Int
  let matcher: RequestMatcher
  let response: Response
}
