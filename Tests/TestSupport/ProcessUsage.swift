import Foundation
import Glibc

/// What a process uses of the system, for tests that nothing is left behind.
///
/// Of the test process itself it says little while other tests run beside: such a test is better off with a child
/// process.
package struct ProcessUsage: Sendable, Hashable {
  package let descriptors: Int
  package let threads: Int

  /// Resident memory in bytes.
  package let memory: Int

  /// Of the test process.
  package static var current: ProcessUsage? { ProcessUsage(of: getpid()) }

  /// Nil when there is no such process.
  init?(of process: pid_t) {
    let files = FileManager.default
    guard let descriptors = try? files.contentsOfDirectory(atPath: "/proc/\(process)/fd").count,
      let threads = try? files.contentsOfDirectory(atPath: "/proc/\(process)/task").count,
      let pages = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")[1],
      let memory = Int(pages).map({ $0 * sysconf(Int32(_SC_PAGESIZE)) })
    else { return nil }
    self.descriptors = descriptors
    self.threads = threads
    self.memory = memory
  }
}
