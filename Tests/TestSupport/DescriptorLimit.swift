import Glibc

/// The descriptors of a process.
package enum DescriptorLimit {
  /// Opens all descriptors that there may be, but those that are left to others, after having lowered the limit; returns
  /// them.
  package static func reach(but left: Int = 0) -> [Int32] {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_cur, 256)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var descriptors: [Int32] = []
    while true {
      let descriptor = dup(0)
      guard descriptor >= 0 else { break }
      descriptors.append(descriptor)
    }
    for descriptor in descriptors.suffix(left) { close(descriptor) }
    return descriptors.dropLast(left)
  }
}
