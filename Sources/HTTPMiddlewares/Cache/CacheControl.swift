import HTTPClientCore
import SystemBase

/// The directives of `Cache-Control`, of a request or a response (RFC 9111, section 5.2; RFC 5861).
///
/// Times are in seconds. A directive whose value cannot be read, and one that comes twice with different values, gets
/// the value that makes a response stale the soonest (section 4.2.1). Unknown directives are ignored (section 5.2.3),
/// and those with a list of field names, such as `private="Set-Cookie"`, count for the whole response.
struct CacheControl: Hashable, Sendable {
  var noStore = false
  var noCache = false
  var isPublic = false
  var isPrivate = false
  var mustRevalidate = false
  var proxyRevalidate = false
  var mustUnderstand = false
  var onlyIfCached = false
  var maxAge: Int?
  var sharedMaxAge: Int?
  var staleWhileRevalidate: Int?
  var staleIfError: Int?
  var minFresh: Int?
  /// `Int.max` for any age.
  var maxStale: Int?

  /// Reads the directives of a message.
  init(_ headers: HTTPHeaders) {
    var (isGiven, isPragma) = (false, false)
    for index in 0..<headers.count {
      if headers[index].hasName("Cache-Control") {
        isGiven = true
        headers[index].value.forEachListElement { add($0) }
      } else if headers[index].hasName("Pragma"), headers[index].value.lowercased() == "no-cache" {
        isPragma = true
      }
    }
    if isPragma, !isGiven { noCache = true }  // Section 5.4
  }

  private mutating func add(_ directive: Substring) {
    let parts = directive.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]).withoutQuotes : nil
    switch parts[0].lowercased() {
    case "no-store": noStore = true
    case "no-cache": noCache = true
    case "public": isPublic = true
    case "private": isPrivate = true
    case "must-revalidate": mustRevalidate = true
    case "proxy-revalidate": proxyRevalidate = true
    case "must-understand": mustUnderstand = true
    case "only-if-cached": onlyIfCached = true
    case "max-age": Self.restrict(&maxAge, to: value)
    case "s-maxage": Self.restrict(&sharedMaxAge, to: value)
    case "stale-while-revalidate": Self.restrict(&staleWhileRevalidate, to: value)
    case "stale-if-error": Self.restrict(&staleIfError, to: value)
    case "min-fresh": minFresh = max(minFresh ?? 0, Self.seconds(value) ?? .max)
    case "max-stale": maxStale = min(maxStale ?? .max, value == nil ? .max : Self.seconds(value) ?? 0)
    default: break
    }
  }

  /// Sets a time whose smaller values are the stricter ones; of two that differ, neither counts.
  private static func restrict(_ time: inout Int?, to value: String?) {
    let seconds = seconds(value) ?? 0
    time = time.map { $0 == seconds ? $0 : 0 } ?? seconds
  }

  /// Reads delta-seconds; values above 2^31 count as that (section 1.2.2).
  static func seconds(_ value: String?) -> Int? {
    guard let value, !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return min(Int(value) ?? .max, 1 << 31)
  }
}

extension String {
  /// Calls a closure with each element of a list (RFC 9110, section 5.6.1), without the blanks around it. A comma in
  /// quotes separates nothing; from an element on whose quotes are never closed, quotes mean nothing.
  func forEachListElement(_ body: (Substring) -> Void) {
    var rest = self[...]
    var mayQuote = true
    while !rest.isEmpty {
      var (isQuoted, isEscaped) = (false, false)
      let end = rest.utf8.firstIndex { byte in
        if isEscaped {
          isEscaped = false
        } else if isQuoted, byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isQuoted = mayQuote && !isQuoted
        }
        return byte == UInt8(ascii: ",") && !isQuoted
      }
      if isQuoted {
        mayQuote = false
        continue
      }
      let element = rest[..<(end ?? rest.endIndex)].trimmed
      if !element.isEmpty { body(element) }
      rest = end.map { rest[rest.utf8.index(after: $0)...] } ?? ""
    }
  }

  /// The text inside double quotes, if they are around it.
  fileprivate var withoutQuotes: String {
    count >= 2 && first == "\"" && last == "\"" ? String(dropFirst().dropLast()) : self
  }
}
