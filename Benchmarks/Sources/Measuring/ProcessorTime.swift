import Foundation

/// The nanoseconds of processor time that this process has used, on all its threads. Other load on the machine does not
/// show in it.
package func processorNanoseconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
