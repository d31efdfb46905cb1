public import Networking

extension Fetched {
  /// The answer of a GraphQL server: partial where errors stand beside the data. Throws as
  /// `GraphQLResponse.requireData()` does where there is no data.
  public init(_ response: GraphQLResponse<Value>) throws {
    self.init(try response.requireData())
    do {
      _ = try response.applying(.none)
    } catch {
      errors = [error]
    }
  }
}
