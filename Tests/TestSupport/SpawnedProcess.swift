import Glibc
import LoopbackServers
import Synchronization

/// A child process that is signalled and waited for safely: no signal can hit another process that got its number
/// later.
final class SpawnedProcess: Sendable {
  private let identifier: pid_t
  private let isRunning = Mutex(true)

  /// Starts a program with these as its descriptors 0, 1 and 2, and with no others.
  init(
    _ path: String, _ arguments: [String], environment: [String: String], standardDescriptors: [Descriptor]
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in standardDescriptors.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor.number, Int32(number))
    }
    guard let closeFrom else { throw FailedCall(call: "posix_spawn_file_actions_addclosefrom_np", code: ENOSYS) }
    _ = closeFrom(&actions, Int32(standardDescriptors.count))

    // A shell that starts the tests in the background makes them ignore SIGINT, which a child would inherit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let argumentPointers = ([path] + arguments).map { strdup($0) }
    let environmentPointers = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
    var identifier: pid_t = 0
    let code = posix_spawn(
      &identifier, path, &actions, &attributes, argumentPointers + [nil], environmentPointers + [nil])
    guard code == 0 else { throw FailedCall(call: "posix_spawn \(path)", code: code) }
    self.identifier = identifier
  }

  func send(_ signal: Int32) {
    _ = whileRunning { kill($0, signal) }
  }

  /// Does something with the process's number; nil when it has ended.
  func whileRunning<Result: Sendable>(_ body: (pid_t) -> Result) -> Result? {
    isRunning.withLock { $0 ? body(identifier) : nil }
  }

  /// Waits until it has ended, and gives the most memory it had, in bytes. To be called once.
  func waitForEnd() -> (ending: ChildProcess.Ending, peakMemory: Int) {
    // First without reaping, so that the lock is not held while the process runs.
    var information = siginfo_t()
    _ = retryingOnInterrupt { waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) }
    return isRunning.withLock { isRunning in
      var status: Int32 = 0
      var usage = rusage()
      _ = retryingOnInterrupt { wait4(identifier, &status, 0, &usage) }
      isRunning = false
      // The macros WIFEXITED and so on, which Swift does not see.
      let signal = status & 0x7f
      return (signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal), usage.ru_maxrss * 1024)
    }
  }
}

/// `posix_spawn_file_actions_addclosefrom_np` of glibc 2.34, which its module does not show.
private let closeFrom: CloseFrom? =
  dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map { unsafeBitCast($0, to: CloseFrom.self) }

private typealias CloseFrom =
  @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
