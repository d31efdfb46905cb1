import Glibc
import Testing

/// Expects that eight times as many of something take about eight times as long; in quadratic time it would be 64. `make`
/// makes so many, and returns what is measured.
func expectLinearTime(
  _ count: Int, sourceLocation: SourceLocation = #_sourceLocation, _ make: (Int) throws -> () throws -> Void
) throws {
  var ratios: [Double] = []
  for _ in 0..<5 {
    let few = try processorTime(of: make(count))
    let many = try processorTime(of: make(8 * count))
    ratios.append(many / few)
    if many / few < 16 { break }
  }
  #expect(ratios.contains { $0 < 16 }, "\(ratios)", sourceLocation: sourceLocation)
}

/// What a closure takes of the processor on this thread, in nanoseconds.
private func processorTime(of body: () throws -> Void) throws -> Double {
  let start = processorTime
  try body()
  return max(processorTime - start, 1)
}

private var processorTime: Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
