import Testing

@testable import moments

struct TimeoutTests {
  @Test(arguments: [
    ("1", Duration.seconds(1)), ("0.25", .milliseconds(250)), (".5", .milliseconds(500)), ("2.", .seconds(2)),
    ("0.001", .milliseconds(1)), ("86400", .seconds(86_400)), ("007", .seconds(7)),
  ])
  func `seconds are decimal, with fractions`(text: String, expected: Duration) throws {
    let difference = try Timeout.duration(text) - expected
    #expect(difference < .microseconds(1) && difference > .microseconds(-1))
  }

  @Test(arguments: [
    "", ".", "0", "0.0", "-1", "+1", "0.0009", "86400.001", "nan", "NaN", "inf", "infinity", "1e3", "0x10", "1,5", "1 ",
    " 1", "1s", "1_000", "１", "٣", "1.2.3", "1\n", "9999999999999999999999999999999999999999999", "five",
  ])
  func `anything else is wrong usage`(text: String) {
    #expect(throws: UsageError.self) { try Timeout.duration(text) }
  }
}
