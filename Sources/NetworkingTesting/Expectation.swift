/// Requests, and what they are answered.
struct Expectation: Sendable {
  let matcher: RequestMatcher
  let answer: ScriptedAnswer
}
