import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct DateTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("2026-01-31T12:00:00Z", 1_769_860_800), ("2026-01-31t12:00:00z", 1_769_860_800),
    ("2026-01-31 12:00:00Z", 1_769_860_800), ("2026-01-31T12:00:00+00:00", 1_769_860_800),
    ("2026-01-31T12:00:00-00:00", 1_769_860_800), ("2026-01-31T17:30:00+05:30", 1_769_860_800),
    ("2026-01-31T00:00:00-12:00", 1_769_860_800), ("2026-02-01T02:00:00+14:00", 1_769_860_800),
    ("2026-02-01T11:59:00+23:59", 1_769_860_800), ("2020-11-16T10:09:20+00:00", 1_605_521_360),
    ("2024-02-29T00:00:00Z", 1_709_164_800), ("2000-02-29T00:00:00Z", 951_782_400),
    ("1969-12-31T23:59:59Z", -1), ("1900-03-01T00:00:00Z", -2_203_891_200),
    ("2016-12-31T23:59:60Z", 1_483_228_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
    ("0001-01-01T00:00:00Z", -62_135_596_800), ("0000-03-01T00:00:00Z", -62_162_035_200),
    ("0000-02-29T00:00:00Z", -62_162_121_600), ("0000-01-01T00:00:00Z", -62_167_219_200),
    ("1582-10-10T00:00:00Z", -12_219_724_800),
  ])
  func `a date is read to the second`(text: String, seconds: Double) {
    #expect(Date(iso8601: text)?.timeIntervalSince1970 == seconds)
  }

  @Test(arguments: [
    (".5", 0.5), (".0", 0), (".12", 0.12), (".123", 0.123), (".1234", 0.1234), (".12345", 0.12345),
    (".123456", 0.123456), (".999999", 0.999999), (".000001", 0.000001), (",25", 0.25), ("", 0),
    (".1234567", 0.123456), (".123456789", 0.123456), (".999999999", 0.999999),
    ("." + String(repeating: "9", count: 10_000), 0.999999),
  ])
  func `a fraction has as many digits as it likes, of which six count`(fraction: String, seconds: Double) throws {
    let date = try #require(Date(iso8601: "1970-01-01T00:00:00\(fraction)Z"))
    #expect(abs(date.timeIntervalSince1970 - seconds) < 2e-7)
    #expect(Date(iso8601: "1970-01-01T01:00:00\(fraction)+01:00") == date)
  }

  @Test(arguments: [
    "", "garbage", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00Z", "2026-01-31T12:00:00.Z",
    "2026-01-31T12:00:00.123456x7Z", "2026-1-31T12:00:00Z", "26-01-31T12:00:00Z", "2026-01-31T12:00:00+0530",
    "2026-01-31T12:00:00+05", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+05:60", "2026-01-31T24:00:00Z",
    "2026-01-31T12:60:00Z", "2026-01-31T12:00:61Z", "2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z",
    "2026-01-00T12:00:00Z", "2026-01-32T12:00:00Z", "2026-04-31T00:00:00Z", "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "+2026-01-31T12:00:00Z", "-026-01-31T12:00:00Z",
    " 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z ", "2026-01-31T12:00:00Z\n", "2026-01-31T12:00:00ZZ",
    "2026/01/31T12:00:00Z", "2026-01-31_12:00:00Z", "２０２６-01-31T12:00:00Z", "2026-01-31T12:00:00 Z",
    "20260131T120000Z", "1769860800", "2026-01-31T12:00:00+-5:00", "2026-01-31T12:00:00−05:00",
  ])
  func `anything else is no date`(text: String) {
    #expect(Date(iso8601: text) == nil)
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (1_769_860_800.5, "2026-01-31T12:00:00.500000Z"),
    (1_769_860_800.000001, "2026-01-31T12:00:00.000001Z"), (-0.25, "1969-12-31T23:59:59.750000Z"),
    (1_709_164_800, "2024-02-29T00:00:00Z"), (0.9999999, "1970-01-01T00:00:01Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (-62_135_596_800, "0001-01-01T00:00:00Z"),
    (-62_167_219_200, "0000-01-01T00:00:00Z"), (-12_219_724_800, "1582-10-10T00:00:00Z"),
  ])
  func `a date is written in UTC, with 6 digits of a fraction where it has one`(seconds: Double, text: String) {
    #expect(Date(timeIntervalSince1970: seconds).iso8601 == text)
  }

  @Test(arguments: [253_402_300_800, -62_167_219_201, 1e300, -1e300, .infinity, -.infinity, .nan])
  func `a date outside of four digits for its year is not written`(seconds: Double) {
    #expect(Date(timeIntervalSince1970: seconds).iso8601 == nil)
  }

  @Test func `days of the years 0 to 9999 are read back as they were written`() throws {
    for day in stride(from: -719_528.0, through: 2_932_896, by: 191) {
      let date = Date(timeIntervalSince1970: day * 86400 + 43_201)
      let text = try #require(date.iso8601)
      guard Date(iso8601: text) == date else {
        Issue.record("\(text) is not read as \(date.timeIntervalSince1970)")
        return
      }
    }
  }

  @Test(arguments: [
    "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.99998Z",
    "9999-12-31T23:59:59.999969Z", "9999-12-31T23:59:60Z", "9999-12-31T23:59:60.9Z", "9999-12-31T23:59:59+23:59",
    "9999-12-31T23:59:60.5-00:00", "9999-12-31T18:29:60.5-05:30", "0000-01-01T00:00:00Z",
    "0000-01-01T00:00:00.000001Z", "0000-01-01T23:59:00+23:59", "0000-01-01T00:00:00-23:59",
    "0001-01-01T00:00:00.0000001Z", "0001-01-01T00:00:00+14:00", "2016-12-31T23:59:60.999999Z",
    "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000001Z", "1700-06-15T08:09:10.123457Z",
  ])
  func `a date at the edge of what can be written is read back as it was`(text: String) throws {
    let date = try #require(Date(iso8601: text))
    let written = try #require(date.iso8601)
    #expect(Date(iso8601: written) == date, "\(written)")
    for coder in [JSONCoder(), JSONCoder(keys: .snakeCase)] {
      let json = try coder.encode([date])
      #expect(try coder.decode([Date].self, from: json) == [date])
    }
  }

  @Test(arguments: [
    "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59.9999999-05:00", "9999-12-31T23:59:60-00:01",
    "0000-01-01T00:00:00+00:01", "0000-01-01T23:58:59.999999+23:59",
  ])
  func `a date that its offset moves out of four digits for its year is not read`(text: String) {
    #expect(Date(iso8601: text) == nil)
  }

  @Test func `every date that is read is written, and read back as the same`() throws {
    var random = SplitMix(seed: 5)
    for round in 0..<40_000 {
      // A quarter is from the two stretches of years where a `Date` and its distance from 1970 have different steps.
      let year = Int.random(in: [0...9999, 1834...1865, 1697...1729, 0...9999][round % 4], using: &random)
      func two(_ range: ClosedRange<Int>) -> String {
        String(String(Int.random(in: range, using: &random) + 100).suffix(2))
      }
      let digits = Int.random(in: 0...8, using: &random)
      let fraction = digits == 0 ? "" : "." + (0..<digits).map { _ in String(two(0...9).suffix(1)) }.joined()
      let offset = ["Z", "+\(two(0...23)):\(two(0...59))", "-\(two(0...23)):\(two(0...59))"][round % 3]
      let text =
        String(String(year + 10_000).suffix(4)) + "-\(two(1...12))-\(two(1...31))T\(two(0...23)):\(two(0...59)):"
        + two(0...60) + fraction + offset
      guard let date = Date(iso8601: text) else { continue }
      let again = date.iso8601.flatMap { Date(iso8601: $0) }
      guard again == date else {
        Issue.record("\(text) is written as \(date.iso8601 ?? "nothing")")
        return
      }
    }
  }

  @Test func `random instants are read back to the microsecond`() throws {
    for _ in 0..<2000 {
      let date = Date(timeIntervalSince1970: Double.random(in: -2e9..<4e9))
      let again = try #require(date.iso8601.flatMap { Date(iso8601: $0) })
      #expect(abs(again.timeIntervalSince(date)) < 1e-6)
    }
  }
}
