import Foundation
import Testing

@testable import HTTPClientCore

@Suite("dates in header fields, RFC 9110, section 5.6.7")
struct HTTPDateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
    ] as [(String, Double)])
  func `each form has its time`(text: String, seconds: Double) {
    #expect(Date(httpDate: text)?.timeIntervalSince1970 == seconds)
  }

  @Test(arguments: [
    "Sun, 00 Jan 2030 00:00:00 GMT", "Sunday, 00-Nov-94 08:49:37 GMT", "Sun Nov  0 08:49:37 1994",
    "Fri, 31 Nov 2029 00:00:00 GMT", "Thu, 29 Feb 2029 00:00:00 GMT",
  ])
  func `a day that its month does not have is no date`(text: String) {
    #expect(Date(httpDate: text) == nil)
  }

  @Test(arguments: [
    ("2026-11-26", "76", 2076), ("2026-11-26", "77", 1977), ("2026-11-26", "26", 2026), ("2026-11-26", "99", 1999),
    ("1994-11-06", "44", 2044), ("1994-11-06", "45", 1945), ("2060-01-01", "09", 2109), ("2060-01-01", "11", 2011),
  ])
  func `a year of two digits is at most fifty years ahead`(now: String, digits: String, year: Int) throws {
    let now = try #require(ISO8601DateFormatter().date(from: "\(now)T12:00:00Z"))
    let date = try #require(Date(httpDate: "Sunday, 01-Feb-\(digits) 08:49:37 GMT", now: now))
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    #expect(calendar.component(.year, from: date) == year)
  }
}
