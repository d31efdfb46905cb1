import Glibc

/// Ends this process, by a signal, unless it has ended by itself in so many seconds.
///
/// For what an exit test runs, and for a process that a test forks: who waits for these has no limit, so that one that stands
/// still would hang all tests.
package func endProcess(after seconds: UInt32 = 300) {
  // Threads of Dispatch block the signal, and the only thread of a forked process was one of them.
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGALRM)
  pthread_sigmask(Int32(SIG_UNBLOCK), &signals, nil)
  alarm(seconds)
}
