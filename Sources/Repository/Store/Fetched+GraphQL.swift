public import HTTP
public import Networking

extension Fetched {
  /// A GraphQL response: partial if it has errors beside the data. Throws as `GraphQLResponse.requireData()` does if it
  /// has no data.
  public init(_ response: GraphQLResponse<Value>) throws(RequestError) {
    self.init(try response.requireData())
    do {
      _ = try response.applying(.none)
    } catch {
      errors = [error]
    }
  }
}
