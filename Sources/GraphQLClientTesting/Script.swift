import HTTPClientCore

/// The state of a ``ScriptedTransport``: what it does with requests, or with subscriptions.
struct Script<Response: Sendable>: Sendable {
  private(set) var expectations: [Expectation<Response>] = []
  private(set) var rules: [Expectation<Response>] = []
  var requests: [HTTPRequest] = []
  private(set) var unexpected: [String] = []
  var cancellations = 0
  private var expectationCount = 0

  mutating func expect(_ requests: RequestMatcher, _ response: Response) {
    expectations.append(Expectation(number: expectationCount, matcher: requests, response: response))
    expectationCount += 1
  }

  mutating func always(_ requests: RequestMatcher, _ response: Response) {
    rules.insert(Expectation(number: expectationCount, matcher: requests, response: response), at: 0)
    expectationCount += 1
  }

  /// Marks an expectation as met. Returns false if another request has met it already.
  mutating func meet(_ expectation: Expectation<Response>) -> Bool {
    guard let index = expectations.firstIndex(where: { $0.number == expectation.number }) else { return false }
    expectations.remove(at: index)
    return true
  }

  /// Notes a request that is not in the script, and fails it.
  mutating func refuse(_ request: HTTPRequest) -> RequestError {
    let name = request.operationName.map { " (\($0))" } ?? ""
    let failure = "Not scripted: \(request.method) \(request.url.shownSafely)\(name)"
    unexpected.append(failure)
    return RequestError(.invalidRequest, failure, operationName: request.operationName)
  }

  /// What was not as expected.
  var failures: [String] {
    var refused: [String] = []
    for problem in requests.flatMap(\.graphQLProblems) where !refused.contains(problem) { refused.append(problem) }
    return unexpected + expectations.map { "Not requested: \($0.matcher)" } + refused
  }
}
