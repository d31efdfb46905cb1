import Foundation
import Measuring

/// What a client has to do.
package struct Load: Hashable, Sendable {
  package var url: String
  package var certificate: String
  package var size: Int
  package var width: Int
  package var seconds: Double

  /// The number of requests to make instead of running for a time, to see how much memory they leave behind.
  package var count: Int?

  /// Further requests each second, which are cancelled after a random time of up to 2 ms.
  package var cancellations = 0

  package init(url: String, certificate: String = "", size: Int, width: Int, seconds: Double, count: Int? = nil) {
    self.url = url
    self.certificate = certificate
    self.size = size
    self.width = width
    self.seconds = seconds
    self.count = count
  }
}

/// The result.
package struct LoadResult: Codable, Sendable {
  package var rate: Double
  package var p50: Double
  package var p99: Double
  /// Microseconds of processor time per request.
  package var processor: Double
  /// Resident MiB at the end.
  package var memory: Double

  package init(rate: Double, p50: Double, p99: Double, processor: Double, memory: Double) {
    self.rate = rate
    self.p50 = p50
    self.p99 = p99
    self.processor = processor
    self.memory = memory
  }
}

extension LoadResult {
  /// Sends requests repeatedly on `width` tasks, after a short warm-up.
  package static func measure(_ load: Load, _ send: @escaping @Sendable () async throws -> Void) async throws
    -> LoadResult
  {
    for _ in 0..<3 { _ = try await lap(load, seconds: 0.15, count: nil, send) }
    let (start, begin) = (ContinuousClock.now, processorTime())
    let disturbance = Task { try await cancelSome(load.cancellations, send) }
    defer { disturbance.cancel() }
    let latencies = try await lap(load, seconds: load.seconds, count: load.count, send).sorted()
    return LoadResult(latencies, time: .now - start, processor: processorTime() - begin)
  }

  private static func cancelSome(_ perSecond: Int, _ send: @escaping @Sendable () async throws -> Void) async throws {
    while perSecond > 0 {
      let request = Task { try await send() }
      Task {
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<2_000)))
        request.cancel()
      }
      try await Task.sleep(for: .seconds(1) / perSecond)
    }
  }

  package init(_ latencies: [Duration], time: Duration, processor: Double) {
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
package func processorTime() -> Double { processorNanoseconds() / 1e9 }

/// The resident memory of this process in MiB.
package func residentMemory() -> Double {
  let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
  return Double(fields?[1] ?? "").map { $0 * 4096 / 1_048_576 } ?? 0
}

extension [LoadResult] {
  /// The median of each figure.
  package var medians: LoadResult {
    LoadResult(
      rate: median(\.rate), p50: median(\.p50), p99: median(\.p99), processor: median(\.processor),
      memory: median(\.memory))
  }

  private func median(_ value: KeyPath<LoadResult, Double>) -> Double {
    map { $0[keyPath: value] }.sorted()[count / 2]
  }
}

extension Double {
  /// The number, with this many decimals.
  package func formatted(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
