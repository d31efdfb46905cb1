import Foundation
import Measuring
import Models
import StrictJSON

/// Reads what `Scripts/bench json` reads into generated types and by hand, in turns.
///
///     GenerateBenchmarks [ROUNDS]                 a table, with processor time
///     GenerateBenchmarks ROW generated|hand COUNT     for a profiler: reads one text so many times
@main
struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments
    if arguments.count == 4, let row = Int(arguments[1]).flatMap(Row.init), let count = Int(arguments[3]) {
      let work = arguments[2] == "generated" ? row.generated : row.byHand
      for _ in 0..<count { _ = try work() }
      return
    }
    let rounds = arguments.count > 1 ? max(1, Int(arguments[1]) ?? 9) : 9
    for index in 0... {
      guard let row = Row(index) else { return }
      let (generated, byHand) = try row.times(rounds: rounds)
      print("\(row.name)\t\(generated / 1000)\t\(byHand / 1000)")
    }
  }
}

/// A text, and how it is read.
struct Row {
  let name: String
  let count: Int
  let generated: () throws -> Int
  let byHand: () throws -> Int

  private init(_ name: String, count: Int, generated: @escaping () throws -> Int, byHand: @escaping () throws -> Int) {
    (self.name, self.count, self.generated, self.byHand) = (name, count, generated, byHand)
  }

  /// The row with a number; `nil` behind the last one.
  init?(_ index: Int) {
    switch index {
    case 0: self = Self.timeline(.moments("1.7 KB of moments", count: 4), count: 5000)
    case 1: self = Self.timeline(.moments("107 KB of moments", count: 253), count: 80)
    case 2: self = Self.timeline(.moments("10 MB of moments", count: 23_400), count: 1)
    case 3: self = Self.points(.numbers("100 KB of numbers", count: 1100), count: 80)
    default: return nil
    }
  }

  private static func timeline(_ payload: Payload, count: Int) -> Row {
    let data = payload.data
    return Row(
      payload.name, count: count,
      generated: { try TimelineSession.ResponseData(json: data.bytes).moments.count },
      byHand: { try MomentsDetails(json: data.bytes).moments.count })
  }

  private static func points(_ payload: Payload, count: Int) -> Row {
    let data = payload.data
    return Row(
      payload.name, count: count, generated: { try [PointFields](json: data.bytes).count },
      byHand: { try [Point](json: data.bytes).count })
  }

  /// The medians in nanoseconds, after a round to warm up.
  func times(rounds: Int) throws -> (generated: Double, byHand: Double) {
    var times: (generated: [Double], byHand: [Double]) = ([], [])
    for round in 0...rounds {
      let (generated, byHand) = (try time(generated), try time(byHand))
      guard round > 0 else { continue }
      times.generated.append(generated)
      times.byHand.append(byHand)
    }
    return (times.generated.sorted()[rounds / 2], times.byHand.sorted()[rounds / 2])
  }

  private func time(_ work: () throws -> Int) rethrows -> Double {
    let start = processorNanoseconds()
    var sum = 0
    for _ in 0..<count { sum += try work() }
    let time = (processorNanoseconds() - start) / Double(count)
    return sum > 0 ? time : .infinity
  }
}
