import Foundation

extension DispatchQueue {
  /// A queue for work that may block: Dispatch has a thread for it, of 255 at most in a process. Those of `global()` are as
  /// many as processors, and Swift's tasks run on them too: where all are blocked, others are held up for a second and more.
  static func unshared() -> DispatchQueue { DispatchQueue(label: "SocketTransport") }
}
