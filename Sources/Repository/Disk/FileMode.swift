/// How a file is opened.
package enum FileMode: Sendable {
  /// For reading.
  case read
  /// For writing, made by this very call; only its owner may use it.
  case create
  /// For its lock, made where it is missing; only its owner may use it.
  case lock
  /// A folder.
  case folder
}
