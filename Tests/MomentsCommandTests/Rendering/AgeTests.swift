import Testing

@testable import moments

struct AgeTests {
  @Test(arguments: [
    (0, "just now"), (59, "just now"), (60, "1 minute ago"), (119, "1 minute ago"), (3599, "59 minutes ago"),
    (3600, "1 hour ago"), (86399, "23 hours ago"), (86400, "1 day ago"), (259200, "3 days ago"),
    (604799, "6 days ago"), (604800, "1 week ago"), (2505600, "4 weeks ago"),
    (2592000, "1 month ago"), (31449600, "12 months ago"), (31536000, "1 year ago"),
    (157680000, "5 years ago"), (-1, "just now"), (-300, "just now"), (-301, "in 5 minutes"), (-172800, "in 2 days"),
  ])
  func `ages are shown in the largest whole unit`(seconds: Int64, words: String) {
    let now: Int64 = 1_800_000_000
    #expect(Age.words(createdDate: String(now - seconds), now: now) == words)
  }

  @Test func `the time before 1970 is the past, too`() {
    #expect(Age.words(createdDate: "-86400", now: 0) == "1 day ago")
  }

  @Test func `a time in milliseconds is shown like one in seconds`() {
    #expect(Age.words(createdDate: "1799740800000", now: 1_800_000_000) == "3 days ago")
  }

  @Test(arguments: [
    "", "yesterday", "1e9", "0x10", "1605521360.5", " 1605521360",
    "9223372036854775807", "-9223372036854775808", "99999999999999999999999999",
  ])
  func `garbage and what lies beyond all calendars have no age`(createdDate: String) {
    #expect(Age.words(createdDate: createdDate, now: 1_800_000_000) == nil)
  }
}
