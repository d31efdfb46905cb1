import Foundation

/// How much the tests are to do, for those whose worth grows with the count: races, random cuts and cancellations.
package enum TestScale {
  /// Whether the full counts are asked for, by `Scripts/test --long` or `MOMENTS_TEST_SCALE=long`.
  package static let isLong = ProcessInfo.processInfo.environment["MOMENTS_TEST_SCALE"] == "long"

  /// The count for this run.
  package static func count(_ usual: Int, long: Int) -> Int {
    isLong ? long : usual
  }
}
