/// How a file is opened.
package enum FileMode: Sendable {
  /// For reading.
  case read
  /// For writing; the file must not exist, and only its owner may use it.
  case create
  /// For its lock; created if it does not exist, and only its owner may use it.
  case lock
  /// A folder.
  case folder
}
