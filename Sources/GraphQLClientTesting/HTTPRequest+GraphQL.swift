import GraphQLClient
import HTTPClientCore
import StrictJSON
import SystemBase

extension HTTPRequest {
  /// A member of the GraphQL request that this one carries in its body or, for `GET`, in the query.
  func graphQLMember(_ name: String) -> JSONValue? {
    if let body { return (try? JSONValue(json: body.bytes))?[name] }
    let query = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems
    guard let text = query?.first(where: { $0.name == name })?.value else { return nil }
    return name == "variables" ? try? JSONValue(json: text) : .string(text)
  }

  /// What the server would refuse in it if it is a GraphQL request; see ``GraphQLDocumentCheck``.
  var graphQLProblems: [String] {
    guard let operationName, let document = graphQLMember("query")?.stringValue else { return [] }
    // A REST call may have a parameter of this name as well.
    let start = document.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    guard ["{", "query", "mutation", "subscription", "fragment", "#", "\""].contains(where: start.hasPrefix) else {
      return []
    }
    let problems = GraphQLDocumentCheck.problems(
      in: document, operation: graphQLMember("operationName")?.stringValue, variables: graphQLMember("variables"))
    return problems.map { "\(operationName) \($0)" }
  }
}
