import HTTP

/// What a ``ScriptedTransport`` knows.
struct Script: Sendable {
  var expectations: [Expectation] = []
  var rules: [Expectation] = []
  var requests: [HTTPRequest] = []
  var unexpected: [String] = []
  var cancellations = 0

  /// Takes note of a request, and finds its answer.
  mutating func answer(to request: HTTPRequest) -> ScriptedAnswer {
    requests.append(request)
    if let index = expectations.firstIndex(where: { $0.matcher.matches(request) }) {
      return expectations.remove(at: index).answer
    }
    if let rule = rules.first(where: { $0.matcher.matches(request) }) { return rule.answer }
    let name = request.operationName.map { " (\($0))" } ?? ""
    let failure = "Not scripted: \(request.method) \(request.url.shownSafely)\(name)"
    unexpected.append(failure)
    return .failure(RequestError(.invalidRequest, failure, operationName: request.operationName))
  }
}
