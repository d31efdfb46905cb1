import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import Testing

/// One rule of RFC 9111 or RFC 5861: what becomes of a second request, after the server has responded to a first.
struct CacheRule: Sendable, CustomTestStringConvertible {
  enum Outcome: Hashable, Sendable {
    /// The stored response is served.
    case served
    /// It is served although it is stale.
    case servedStale
    /// The server is asked whether it is current.
    case confirmed
    /// The server is asked as if nothing were stored.
    case asked
    /// The request fails with 504.
    case refused
  }

  let section: String
  let sentence: String
  var status = 200
  /// The fields of the first response.
  let response: [String]
  var firstRequest: [String] = []
  /// The fields of the second request.
  var request: [String] = []
  /// The seconds between the two.
  var wait: Double = 0
  var mode = CacheMode.private
  let outcome: Outcome

  var testDescription: String { "\(section): \(sentence)" }

  init(
    _ section: String, _ sentence: String, _ response: String..., status: Int = 200, firstRequest: [String] = [],
    request: [String] = [], after wait: Double = 0, in mode: CacheMode = .private, is outcome: Outcome
  ) {
    self.section = section
    self.sentence = sentence
    self.status = status
    self.response = response
    self.firstRequest = firstRequest
    self.request = request
    self.wait = wait
    self.mode = mode
    self.outcome = outcome
  }

  private static let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"
  private static let tag = #"ETag: "v1""#
  /// Ten minutes before the date.
  private static let lastChange = "Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT"

  static let all =
    storing + statuses + freshness + expiry + ages + requestDirectives + responseDirectives + validation + varying
    + stale

  static let storing: [CacheRule] = [
    CacheRule("3", "a response with a lifetime is stored", "Cache-Control: max-age=60", is: .served),
    CacheRule("3", "one with Expires alone is stored", date, "Expires: Sun, 06 Nov 1994 08:50:37 GMT", is: .served),
    CacheRule("3", "one without a lifetime or a validator is not served again", is: .asked),
    CacheRule("3", "a status without a heuristic is not stored by itself", tag, status: 403, is: .asked),
    CacheRule("3", "it is with a lifetime", "Cache-Control: max-age=60", status: 403, is: .served),
    CacheRule("3", "one with no-store is not", "Cache-Control: no-store, max-age=60", is: .asked),
    CacheRule(
      "3", "the response to a request with no-store is not", "Cache-Control: max-age=60",
      firstRequest: ["Cache-Control: no-store"], is: .asked),
    CacheRule("3", "part of a response is not", "Cache-Control: max-age=60", status: 206, is: .asked),
    CacheRule("3", "a negative response with a lifetime is", "Cache-Control: max-age=60", status: 404, is: .served),
    CacheRule(
      "3", "a refusal of credentials is not, since the next request may have others", "Cache-Control: max-age=60",
      status: 401, is: .asked),
    CacheRule("3", "nor is that of a proxy", "Cache-Control: max-age=60", tag, status: 407, is: .asked),
    CacheRule(
      "3", "a shared cache does not store what is private", "Cache-Control: private, max-age=60", in: .shared,
      is: .asked),
    CacheRule("3", "a private cache does", "Cache-Control: private, max-age=60", is: .served),
    CacheRule(
      "3.5", "a shared cache does not store what was authorized", "Cache-Control: max-age=60",
      firstRequest: ["Authorization: Bearer a"], request: ["Authorization: Bearer a"], in: .shared, is: .asked),
    CacheRule(
      "3.5", "it does if it is public", "Cache-Control: max-age=60, public",
      firstRequest: ["Authorization: Bearer a"], request: ["Authorization: Bearer a"], in: .shared, is: .served),
    CacheRule(
      "3.5", "or must be revalidated", "Cache-Control: max-age=60, must-revalidate",
      firstRequest: ["Authorization: Bearer a"], request: ["Authorization: Bearer a"], in: .shared, is: .served),
    CacheRule(
      "3.5", "or has a lifetime for shared caches", "Cache-Control: s-maxage=60",
      firstRequest: ["Authorization: Bearer a"], request: ["Authorization: Bearer a"], in: .shared, is: .served),
    CacheRule(
      "3.5", "a private cache stores it", "Cache-Control: max-age=60",
      firstRequest: ["Authorization: Bearer a"], request: ["Authorization: Bearer a"], is: .served),
  ]

  /// Statuses without a lifetime, of which some have a heuristic one (4.2.2; RFC 9110, 15.1).
  static let statuses: [CacheRule] =
    [200, 203, 300, 301, 308, 404, 405, 410, 414, 501].map { status in
      CacheRule(
        "4.2.2", "\(status) has a heuristic lifetime", date, lastChange, status: status, after: 59, is: .served)
    }
    + [201, 202, 302, 303, 307, 400, 403, 429, 500, 502, 503, 504, 599].map { status in
      CacheRule("4.2.2", "\(status) has none", date, lastChange, status: status, is: .asked)
    }
    + [201, 302, 403, 503, 599].map { status in
      CacheRule(
        "4.2.2", "\(status) has one if it is public", date, lastChange, "Cache-Control: public", status: status,
        after: 59, is: .served)
    }
    + [201, 299, 302, 400, 429, 499, 500, 503, 599].map { status in
      CacheRule("3", "\(status) is stored with a lifetime", "Cache-Control: max-age=60", status: status, is: .served)
    }

  static let freshness: [CacheRule] = [
    CacheRule(
      "4.2", "a response is fresh while it is younger than its lifetime", "Cache-Control: max-age=60", tag, after: 59,
      is: .served),
    CacheRule("4.2", "and no longer", "Cache-Control: max-age=60", tag, after: 60, is: .confirmed),
    CacheRule(
      "4.2.1", "in a shared cache s-maxage comes first", "Cache-Control: max-age=1, s-maxage=60", after: 30,
      in: .shared, is: .served),
    CacheRule(
      "4.2.1", "in a private one it means nothing", "Cache-Control: max-age=1, s-maxage=60", tag, after: 30,
      is: .confirmed),
    CacheRule(
      "4.2.1", "max-age comes before Expires", "Cache-Control: max-age=60", date,
      "Expires: Sun, 06 Nov 1994 08:49:38 GMT",
      after: 30, is: .served),
    CacheRule(
      "4.2.1", "also a max-age of 0", "Cache-Control: max-age=0", date, tag, "Expires: Sun, 06 Nov 1994 09:49:37 GMT",
      is: .confirmed),
    CacheRule(
      "4.2.1", "also if Expires is no date", "Cache-Control: max-age=60", date, "Expires: 0", after: 30, is: .served),
    CacheRule(
      "4.2.1", "Expires is relative to Date, not to this clock", "Date: Sun, 06 Nov 1994 08:49:30 GMT",
      "Expires: Sun, 06 Nov 1994 08:50:30 GMT", after: 50, is: .served),
    CacheRule(
      "4.2.1", "Expires before Date is no lifetime, though both are to come", tag,
      "Date: Sun, 06 Nov 1994 08:59:37 GMT", "Expires: Sun, 06 Nov 1994 08:54:37 GMT", is: .confirmed),
    CacheRule(
      "4.2.1", "nor is one that is Date", date, tag, "Expires: Sun, 06 Nov 1994 08:49:37 GMT", is: .confirmed),
    CacheRule(
      "4.2.1", "without a Date that can be read, Expires is relative to the arrival", "Date: today",
      "Expires: Sun, 06 Nov 1994 08:50:37 GMT", after: 59, is: .served),
    CacheRule("4.2.1", "a lifetime that is no number is none", "Cache-Control: max-age=soon", tag, is: .confirmed),
    CacheRule("4.2.1", "nor is one with a fraction", "Cache-Control: max-age=60.5", tag, is: .confirmed),
    CacheRule("4.2.1", "nor a negative one", "Cache-Control: max-age=-1", tag, is: .confirmed),
    CacheRule("4.2.1", "nor one in single quotes", "Cache-Control: max-age='60'", tag, is: .confirmed),
    CacheRule("4.2.1", "nor one after a blank", "Cache-Control: max-age= 60", tag, is: .confirmed),
    CacheRule(
      "4.2.1", "what another directive quotes is none", #"Cache-Control: max-age=1, x="max-age=60, max-age=60""#, tag,
      after: 2, is: .confirmed),
    CacheRule("4.2.1", "zeros before a number mean nothing", "Cache-Control: max-age=0060", after: 30, is: .served),
    CacheRule("4.2.1", "a lifetime in quotes counts", #"Cache-Control: max-age="60""#, after: 30, is: .served),
    CacheRule(
      "4.2.1", "equal duplicates count", "Cache-Control: max-age=60", "Cache-Control: max-age=60", after: 30,
      is: .served),
    CacheRule(
      "4.2.1", "duplicates that differ make the response stale", "Cache-Control: max-age=60, max-age=3600", tag,
      is: .confirmed),
    CacheRule(
      "4.2.1", "so do two Expires that differ", date, tag, "Expires: Sun, 06 Nov 1994 08:50:37 GMT",
      "Expires: Sun, 06 Nov 1994 09:50:37 GMT", is: .confirmed),
    CacheRule(
      "4.2.2", "without a lifetime it is a tenth of the time since the last change", date,
      "Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT", after: 59, is: .served),
    CacheRule(
      "4.2.2", "and no longer", date, "Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT", after: 61, is: .confirmed),
    CacheRule(
      "4.2.2", "at most a day", date, "Last-Modified: Sun, 06 Nov 1904 08:39:37 GMT", after: 86_401, is: .confirmed),
    CacheRule(
      "1.2.2", "a lifetime of any size is one", "Cache-Control: max-age=99999999999999999999", after: 1e9, is: .served),
    CacheRule("5.3", "an Expires of 0 is in the past", tag, date, "Expires: 0", is: .confirmed),
    CacheRule("5.3", "so is a text that is no date", tag, date, "Expires: soon", is: .confirmed),
    CacheRule("5.3", "and an empty one", tag, date, "Expires:", is: .confirmed),
  ]

  /// `Expires` in each form of a date, and in some that are none (5.3 and 4.2; RFC 9110, 5.6.7).
  static let expiry: [CacheRule] =
    [
      ("a date in the preferred form counts", "Sun, 06 Nov 2044 08:49:37 GMT"),
      ("one of RFC 850 counts", "Sunday, 06-Nov-43 08:49:37 GMT"),
      ("one of asctime counts", "Sun Nov  6 08:49:37 2044"),
      ("so does one with a day of two digits", "Wed Nov 16 08:49:37 2044"),
      ("letters have no case", "SUN, 06 nOV 2044 08:49:37 gmt"),
      ("a date after 2106 counts", "Sun, 21 Nov 2286 04:46:39 GMT"),
      ("a leap second counts", "Sun, 06 Nov 2044 23:59:60 GMT"),
    ].map { CacheRule("5.3", $0.0, date, "Expires: \($0.1)", is: .served) }
    + [
      ("a year of two digits belongs to RFC 850", "Sun, 06 Nov 44 08:49:37 GMT"),
      ("one of four does not", "Sunday, 06-Nov-2044 08:49:37 GMT"),
      ("a comma is missing", "Sun 06 Nov 2044 08:49:37 GMT"),
      ("blanks are too many", "Sun, 06  Nov  2044 08:49:37 GMT"),
      ("blanks are too few", "Sun,06 Nov 2044 08:49:37 GMT"),
      ("dashes belong to RFC 850", "Sun, 06-Nov-2044 08:49:37 GMT"),
      ("an hour has two digits", "Sun, 06 Nov 2044 8:49:37 GMT"),
      ("a day has two digits", "Sun, 6 Nov 2044 08:49:37 GMT"),
      ("a time has colons", "Sun, 06 Nov 2044 08.49.37 GMT"),
      ("a time has seconds", "Sun, 06 Nov 2044 08:49 GMT"),
      ("there is no other zone: UTC", "Sun, 06 Nov 2044 08:49:37 UTC"),
      ("nor a difference", "Sun, 06 Nov 2044 08:49:37 +0000"),
      ("nor none at all", "Sun, 06 Nov 2044 08:49:37"),
      ("there is no 31st of April", "Sun, 31 Apr 2044 08:49:37 GMT"),
      ("there is no 29th of February in 2100", "Mon, 29 Feb 2100 08:49:37 GMT"),
      ("there is no 25th hour", "Sun, 06 Nov 2044 24:00:00 GMT"),
      ("something follows", "Sun, 06 Nov 2044 08:49:37 GMT;"),
      ("a day has a name", "06 Nov 2044 08:49:37 GMT"),
      ("and no other one", "Sol, 06 Nov 2044 08:49:37 GMT"),
      ("digits are those of ASCII", "Sun, ٠٦ Nov 2044 08:49:37 GMT"),
    ].map { CacheRule("5.3", "\($0.0), and that is in the past", date, tag, "Expires: \($0.1)", is: .confirmed) }

  static let ages: [CacheRule] = [
    CacheRule(
      "4.2.3", "the time in caches on the way counts", "Cache-Control: max-age=60", tag, "Age: 50", after: 11,
      is: .confirmed),
    CacheRule(
      "4.2.3", "the time since Date counts", "Cache-Control: max-age=60", tag, "Date: Sun, 06 Nov 1994 08:48:47 GMT",
      after: 11, is: .confirmed),
    CacheRule(
      "4.2.3", "a Date in the future makes it no younger", "Cache-Control: max-age=60", tag,
      "Date: Sun, 06 Nov 1994 09:49:37 GMT", after: 61, is: .confirmed),
    CacheRule(
      "5.1", "of several ages the first counts", "Cache-Control: max-age=60", "Age: 10, 55", after: 30, is: .served),
    CacheRule(
      "5.1", "also on a line of its own", "Cache-Control: max-age=60", "Age: 10", "Age: 55", after: 30, is: .served),
    CacheRule(
      "5.1", "even if it is the highest", "Cache-Control: max-age=60", tag, "Age: 55, 10", after: 30, is: .confirmed),
    CacheRule(
      "5.1", "on whichever line", "Cache-Control: max-age=60", tag, "Age: 55", "Age: 10", after: 30, is: .confirmed),
    CacheRule(
      "5.1", "an age that is no number is none", "Cache-Control: max-age=60", "Age: old", after: 30, is: .served),
    CacheRule("5.1", "nor is a negative one", "Cache-Control: max-age=60", "Age: -3600", after: 30, is: .served),
    CacheRule("5.1", "nor one with a fraction", "Cache-Control: max-age=60", "Age: 55.0", after: 30, is: .served),
    CacheRule(
      "1.2.2", "an age of 2^31 seconds is one", "Cache-Control: max-age=60", tag, "Age: 2147483648", is: .confirmed),
    CacheRule(
      "1.2.2", "and one of any size", "Cache-Control: max-age=60", tag, "Age: 99999999999999999999", is: .confirmed),
    CacheRule(
      "4.2.3", "an age counts against Expires, too", "Date: Sun, 06 Nov 1994 08:49:47 GMT", tag, "Age: 15",
      "Expires: Sun, 06 Nov 1994 08:49:57 GMT", is: .confirmed),
  ]

  static let requestDirectives: [CacheRule] = [
    CacheRule(
      "5.2.1.1", "a request may want a younger response", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: max-age=10"], after: 11, is: .confirmed),
    CacheRule(
      "5.2.1.1", "and gets one that is young enough", "Cache-Control: max-age=60",
      request: ["Cache-Control: max-age=10"], after: 9, is: .served),
    CacheRule(
      "5.2.1.1", "of age 0", "Cache-Control: max-age=60", tag, request: ["Cache-Control: max-age=0"], after: 1,
      is: .confirmed),
    CacheRule(
      "5.2.1.2", "it may take a stale one", "Cache-Control: max-age=60", tag, request: ["Cache-Control: max-stale=30"],
      after: 80, is: .servedStale),
    CacheRule(
      "5.2.1.2", "up to its limit", "Cache-Control: max-age=60", tag, request: ["Cache-Control: max-stale=30"],
      after: 91, is: .confirmed),
    CacheRule(
      "5.2.1.2", "or of any age", "Cache-Control: max-age=60", tag, request: ["Cache-Control: max-stale"], after: 1e6,
      is: .servedStale),
    CacheRule(
      "5.2.1.2", "a limit that is no number is none", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: max-stale=x"], after: 61, is: .confirmed),
    CacheRule(
      "5.2.1.3", "it may want freshness for a while", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: min-fresh=20"], after: 41, is: .confirmed),
    CacheRule(
      "5.2.1.3", "which is there", "Cache-Control: max-age=60", request: ["Cache-Control: min-fresh=20"], after: 39,
      is: .served),
    CacheRule(
      "5.2.1.4", "with no-cache the server is asked", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: no-cache"], is: .confirmed),
    CacheRule(
      "5.2.1.5", "with no-store nothing stored is used", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: no-store"], is: .asked),
    CacheRule(
      "5.2.1.7", "only-if-cached takes what is stored", "Cache-Control: max-age=60",
      request: ["Cache-Control: only-if-cached"], is: .served),
    CacheRule(
      "5.2.1.7", "and is refused what is stale", "Cache-Control: max-age=60", tag,
      request: ["Cache-Control: only-if-cached"], after: 61, is: .refused),
    CacheRule("5.2.1.7", "or what is not there", request: ["Cache-Control: only-if-cached"], is: .refused),
    CacheRule(
      "5.4", "Pragma: no-cache counts alone", "Cache-Control: max-age=60", tag, request: ["Pragma: no-cache"],
      is: .confirmed),
    CacheRule(
      "5.4", "and not beside Cache-Control", "Cache-Control: max-age=60",
      request: ["Pragma: no-cache", "Cache-Control: max-age=60"], is: .served),
  ]

  static let responseDirectives: [CacheRule] = [
    CacheRule("5.2", "names of directives have no case", "CACHE-CONTROL: MAX-AGE=60", is: .served),
    CacheRule(
      "5.2", "a comma in quotes separates nothing", #"Cache-Control: x="a, no-store", max-age=60"#, is: .served),
    CacheRule(
      "5.2", "but a quote that is never closed hides nothing", #"Cache-Control: max-age=60, x="a, no-store"#, is: .asked
    ),
    CacheRule(
      "5.2", "and an escaped one closes none", #"Cache-Control: max-age=60, x="a\", no-store"#, is: .asked),
    CacheRule(
      "5.2.3", "unknown directives are ignored", "Cache-Control: immutable, community=\"UCI\", max-age=60", is: .served),
    CacheRule(
      "5.2.2.2", "must-revalidate leaves a fresh response alone", "Cache-Control: max-age=60, must-revalidate", tag,
      after: 59, is: .served),
    CacheRule(
      "5.2.2.2", "must-revalidate forbids what a request would take", "Cache-Control: max-age=60, must-revalidate", tag,
      request: ["Cache-Control: max-stale"], after: 61, is: .confirmed),
    CacheRule(
      "5.2.2.3", "no-store is not for who understands the status, beside must-understand",
      "Cache-Control: no-store, must-understand, max-age=60", is: .served),
    CacheRule(
      "5.2.2.3", "with a status that nobody knows it is", "Cache-Control: no-store, must-understand, max-age=60",
      status: 299, is: .asked),
    CacheRule(
      "5.2.2.4", "no-cache stores, and asks each time", "Cache-Control: no-cache, max-age=60", tag, is: .confirmed),
    CacheRule(
      "5.2.2.4", "no-cache for some fields counts for all", #"Cache-Control: no-cache="Set-Cookie", max-age=60"#, tag,
      is: .confirmed),
    CacheRule(
      "5.2.2.8", "proxy-revalidate means nothing to a private cache", "Cache-Control: max-age=60, proxy-revalidate",
      tag, request: ["Cache-Control: max-stale"], after: 61, is: .servedStale),
    CacheRule(
      "5.2.2.8", "in a shared one it forbids stale responses", "Cache-Control: max-age=60, proxy-revalidate", tag,
      request: ["Cache-Control: max-stale"], after: 61, in: .shared, is: .confirmed),
    CacheRule(
      "5.2.2.9", "public makes any final status storable", "Cache-Control: public", tag, status: 403, is: .confirmed),
    CacheRule(
      "5.2.2.10", "s-maxage forbids stale responses", "Cache-Control: s-maxage=60", tag,
      request: ["Cache-Control: max-stale"], after: 61, in: .shared, is: .confirmed),
  ]

  static let validation: [CacheRule] = [
    CacheRule(
      "4.3.1", "a date is a validator", "Cache-Control: max-age=1", "Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT",
      after: 2, is: .confirmed),
    CacheRule(
      "4.3.1", "a text that is no date is none", "Cache-Control: max-age=1", "Last-Modified: yesterday", after: 2,
      is: .asked),
    CacheRule("4.3.1", "a weak tag is one", "Cache-Control: max-age=1", #"ETag: W/"v1""#, after: 2, is: .confirmed),
    CacheRule("4.3.1", "a tag without quotes is none", "Cache-Control: max-age=1", "ETag: v1", after: 2, is: .asked),
  ]

  static let varying: [CacheRule] = [
    CacheRule(
      "4.1", "equal fields match", "Cache-Control: max-age=60", "Vary: Accept", firstRequest: ["Accept: a"],
      request: ["Accept: a"], is: .served),
    CacheRule(
      "4.1", "others do not", "Cache-Control: max-age=60", "Vary: Accept", firstRequest: ["Accept: a"],
      request: ["Accept: b"], is: .asked),
    CacheRule(
      "4.1", "a missing field matches a missing one alone", "Cache-Control: max-age=60", "Vary: Accept",
      request: ["Accept: b"], is: .asked),
    CacheRule(
      "4.1", "nor does a missing one match any other", "Cache-Control: max-age=60", "Vary: Accept",
      firstRequest: ["Accept: a"], is: .asked),
    CacheRule(
      "4.1", "fields that it does not name do not count", "Cache-Control: max-age=60", "Vary: Accept",
      firstRequest: ["Accept: a", "X-Other: 1"], request: ["X-Other: 2", "Accept: a"], is: .served),
    CacheRule(
      "4.1", "blanks around commas mean nothing", "Cache-Control: max-age=60", "Vary: Accept",
      firstRequest: ["Accept: a,b"], request: ["Accept: a ,  b"], is: .served),
    CacheRule(
      "4.1", "nor does the number of lines", "Cache-Control: max-age=60", "Vary: Accept",
      firstRequest: ["Accept: a, b"], request: ["Accept: a", "Accept: b"], is: .served),
    CacheRule(
      "4.1", "each of the names counts", "Cache-Control: max-age=60", "Vary: Accept, X-Tenant", "Vary: Accept-Language",
      request: ["X-Tenant: 2"], is: .asked),
    CacheRule(
      "4.1", "names have no case", "Cache-Control: max-age=60", "Vary: ACCEPT", firstRequest: ["Accept: a"],
      request: ["accept: b"], is: .asked),
    CacheRule("4.1", "a star matches nothing", "Cache-Control: max-age=60", "Vary: Accept, *", is: .asked),
    CacheRule("4.1", "nor does it alone", "Cache-Control: max-age=60", "Vary: *", is: .asked),
    CacheRule("4.1", "before a name", "Cache-Control: max-age=60", "Vary: *, Accept", is: .asked),
    CacheRule("4.1", "after nothing", "Cache-Control: max-age=60", "Vary: , *", is: .asked),
    CacheRule("4.1", "or on a line of its own", "Cache-Control: max-age=60", "Vary:", "Vary: *", is: .asked),
    CacheRule(
      "4.1", "nor does what may name any field", "Cache-Control: max-age=60", "Vary: Accept Accept-Language",
      is: .asked),
    CacheRule("4.1", "in quotes, too", "Cache-Control: max-age=60", #"Vary: "Accept, *""#, is: .asked),
  ]

  static let stale: [CacheRule] = [
    CacheRule(
      "5861-3", "what may be stale meanwhile is served", "Cache-Control: max-age=60, stale-while-revalidate=30", tag,
      after: 80, is: .servedStale),
    CacheRule(
      "5861-3", "for as long as the server says", "Cache-Control: max-age=60, stale-while-revalidate=30", tag,
      after: 90, is: .confirmed),
    CacheRule(
      "5861-3", "not if it must be revalidated",
      "Cache-Control: max-age=60, stale-while-revalidate=30, must-revalidate", tag, after: 80, is: .confirmed),
  ]
}

@Suite("the rules of RFC 9111 for a client's cache")
struct CacheRuleTests {
  @Test(arguments: CacheRule.all)
  func `by section`(rule: CacheRule) throws {
    let cache = CacheHarness(mode: rule.mode)
    cache.transport.expect(try CacheHarness.response(rule.response, status: rule.status))
    if rule.firstRequest.isEmpty, rule.response.isEmpty, rule.outcome == .refused {
      #expect(try cache.get(rule.request).head.status == 504)
      return
    }
    #expect(try cache.get(rule.firstRequest).text == "first")
    cache.pass(rule.wait)
    let isConditional: @Sendable (HTTPRequest) -> Bool = {
      $0.headers.contains("If-None-Match") || $0.headers.contains("If-Modified-Since")
    }
    cache.transport.always(try CacheHarness.response([], "second"))
    cache.transport.always(RequestMatcher("conditional", isMatch: isConditional), .response(status: 304))
    let outcome = cache.harness.start(try CacheHarness.request(rule.request))
    let response = try #require(outcome.result).get()
    let last = try #require(cache.transport.requests.last)
    let actual: CacheRule.Outcome =
      switch response.head.source {
      case .cache(_, let isStale): isStale ? .servedStale : .served
      case .validatedCache: .confirmed
      default: response.head.status == 504 ? .refused : .asked
      }
    #expect(actual == rule.outcome)
    #expect(
      response.text
        == ([.served, .servedStale, .confirmed].contains(actual) ? "first" : actual == .refused ? "" : "second"))
    if actual == .asked { #expect(!isConditional(last)) }
    if actual == .confirmed { #expect(isConditional(last) && response.head.status == rule.status) }
    if [.served, .refused].contains(actual) { #expect(cache.transport.requests.count == 1) }
  }
}
