/// What errors beside data mean to a session; without data they always fail.
public enum GraphQLErrorPolicy: Sendable {
  /// Any error fails the whole.
  case none
  /// Data is taken, and the errors beside it are dropped.
  case ignore
  /// Data and errors are both given.
  case all
}
