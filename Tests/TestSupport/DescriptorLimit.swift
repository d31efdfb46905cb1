import Glibc

/// The descriptors of a process.
package enum DescriptorLimit {
  /// Opens descriptors until so many are left to others, after having lowered the limit; returns them. It never takes those
  /// that are left, not even for a moment: without any, Dispatch ends the process.
  package static func reach(but left: Int) -> [Int32] {
    var limit = current
    limit.rlim_cur = min(limit.rlim_cur, 256)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var descriptors: [Int32] = []
    while free > left {
      let descriptor = dup(0)
      guard descriptor >= 0 else { break }
      descriptors.append(descriptor)
    }
    return descriptors
  }

  /// How many more may be opened.
  package static var free: Int { (0..<Int32(clamping: current.rlim_cur)).count { fcntl($0, F_GETFD) < 0 } }

  private static var current: rlimit {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit
  }
}
