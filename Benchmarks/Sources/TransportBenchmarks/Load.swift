import Foundation

/// What a client is to do.
struct Load: Hashable, Sendable {
  var url: String
  var certificate: String
  var size: Int
  var width: Int
  var seconds: Double

  /// Requests that are made in the place of a time, to see what memory they leave behind.
  var count: Int?
}

/// What came of it.
struct Measurement: Codable, Sendable {
  var rate: Double
  var p50: Double
  var p99: Double
  /// Microseconds of processor time for each request.
  var processor: Double
  /// Resident MiB at the end.
  var memory: Double
}

extension Measurement {
  /// Sends requests over and over on `width` tasks, after a short warm-up.
  static func measure(_ load: Load, _ send: @escaping @Sendable () async throws -> Void) async throws -> Measurement {
    for _ in 0..<3 { _ = try await lap(load, seconds: 0.15, count: nil, send) }
    let (start, begin) = (ContinuousClock.now, processorTime())
    let latencies = try await lap(load, seconds: load.seconds, count: load.count, send).sorted()
    return Measurement(latencies, time: .now - start, processor: processorTime() - begin)
  }

  init(_ latencies: [Duration], time: Duration, processor: Double) {
    rate = Double(latencies.count) / (time / .seconds(1))
    p50 = latencies[latencies.count / 2] / .microseconds(1)
    p99 = latencies[latencies.count * 99 / 100] / .microseconds(1)
    self.processor = processor / Double(latencies.count) * 1e6
    memory = residentMemory()
  }

  private static func lap(
    _ load: Load, seconds: Double, count: Int?, _ send: @escaping @Sendable () async throws -> Void
  ) async throws -> [Duration] {
    let end = ContinuousClock.now + .seconds(seconds)
    return try await withThrowingTaskGroup(of: [Duration].self) { group in
      for _ in 0..<load.width {
        group.addTask {
          var latencies: [Duration] = []
          var left = count.map { $0 / load.width } ?? .max
          while left > 0 {
            let start = ContinuousClock.now
            if count == nil, start > end { break }
            try await send()
            latencies.append(.now - start)
            left -= 1
          }
          return latencies
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }
}

/// The seconds of processor time that this process has used.
func processorTime() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The resident memory of this process in MiB.
func residentMemory() -> Double {
  let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
  return Double(fields?[1] ?? "").map { $0 * 4096 / 1_048_576 } ?? 0
}
