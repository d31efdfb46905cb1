/// Which requests to respond to, and with what.
struct Expectation: Sendable {
  /// Identifies it within its script.
  let number: Int
  let matcher: RequestMatcher
  let answer: ScriptedResponse
}
