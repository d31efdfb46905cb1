/// How a session treats errors beside data. A response without data always fails.
public enum GraphQLErrorPolicy: Sendable {
  /// Any error fails the request.
  case none
  /// The data is returned, and the errors are dropped.
  case ignore
  /// Both data and errors are returned.
  case all
}
