import HTTP

/// The state of a ``ScriptedTransport``.
struct Script: Sendable {
  private(set) var expectations: [Expectation] = []
  private(set) var rules: [Expectation] = []
  var requests: [HTTPRequest] = []
  private(set) var unexpected: [String] = []
  var cancellations = 0
  private var expectationCount = 0

  mutating func expect(_ requests: RequestMatcher, _ answer: ScriptedResponse) {
    expectations.append(Expectation(number: expectationCount, matcher: requests, answer: answer))
    expectationCount += 1
  }

  mutating func always(_ requests: RequestMatcher, _ answer: ScriptedResponse) {
    rules.insert(Expectation(number: expectationCount, matcher: requests, answer: answer), at: 0)
    expectationCount += 1
  }

  /// Marks an expectation as met. Returns false if another request has met it already.
  mutating func meet(_ expectation: Expectation) -> Bool {
    guard let index = expectations.firstIndex(where: { $0.number == expectation.number }) else { return false }
    expectations.remove(at: index)
    return true
  }

  /// Notes a request that is not in the script, and fails it.
  mutating func refuse(_ request: HTTPRequest) -> ScriptedResponse {
    let name = request.operationName.map { " (\($0))" } ?? ""
    let failure = "Not scripted: \(request.method) \(request.url.shownSafely)\(name)"
    unexpected.append(failure)
    return .failure(RequestError(.invalidRequest, failure, operationName: request.operationName))
  }
}
