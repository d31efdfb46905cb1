/// Which requests to respond to, and with what.
struct Expectation<Answer: Sendable>: Sendable {
  /// Identifies it within its script.
  let number: Int
  let matcher: RequestMatcher
  let answer: Answer
}
