import Dispatch
import HTTPClientCore
import Synchronization
import SystemBase

extension ThreadPool {
  /// For whatever may block: observers, files, look-ups.
  static let shared = ThreadPool(named: "HTTPWorker", limit: 2048)
}

/// Whether this process is the child of a `fork` in a process in which a transport ran: it has none of its parent's
/// threads, and shares its connections.
enum ForkedProcess {
  private static let isChildFlag = Atomic(false)
  private static let watching: Void = {
    _ = isChild  // made now: a child must not make anything
    pthread_atfork(nil, nil) { ForkedProcess.isChildFlag.store(true, ordering: .relaxed) }
  }()

  static var isChild: Bool { isChildFlag.load(ordering: .relaxed) }

  /// Makes the children of forks from now on know what they are.
  static func watch() { watching }
}

extension RequestError {
  /// The error for a request in a forked process.
  static let afterFork = RequestError(
    .forkedProcess,
    """
    This process was forked from one in which a transport had run, and has none of its threads: start processes with \
    posix_spawn, exec or Foundation's Process, or fork before the first request.
    """)
}

extension DispatchQueue {
  /// A queue for work that is not to wait for that of others, as on the threads of `global()`, which are as many as
  /// there are processors: Dispatch gives it a thread of its own, up to 255 in a process. For work that may block there
  /// is ``ThreadPool``.
  static func unshared() -> DispatchQueue { DispatchQueue(label: "SocketTransport") }
}
