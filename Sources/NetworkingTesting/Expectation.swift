/// Requests, and what they are answered.
struct Expectation: Sendable {
  /// By which it is told from others of its script.
  let number: Int
  let matcher: RequestMatcher
  let answer: ScriptedResponse
}
