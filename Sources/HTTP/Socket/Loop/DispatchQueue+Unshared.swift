import Foundation

extension DispatchQueue {
  /// A queue for work that is not to wait for that of others, as on the threads of `global()`, which are as many as
  /// there are processors: Dispatch gives it a thread of its own, up to 255 in a process. For work that may block there
  /// is ``ThreadPool``.
  static func unshared() -> DispatchQueue { DispatchQueue(label: "SocketTransport") }
}
