import Foundation

extension DispatchQueue {
  /// A queue for work that may block: Dispatch gives it a thread of its own, up to 255 in a process. The threads of
  /// `global()` are as many as there are processors, and Swift's tasks run on them, too: if all of them block,
  /// everything else is held up for a second or more.
  static func unshared() -> DispatchQueue { DispatchQueue(label: "SocketTransport") }
}
