/// How the end of an answer's body is found (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
  case none
  case length(Int)
  case chunked
  case untilClose

  /// Decides by the head. What could be read in two ways is refused, for that is how answers are smuggled (section 11.2).
  init(of headers: HTTPHeaders, status: Int, minorVersion: Int, isHead: Bool) throws(RequestError) {
    let codings = headers.values(of: "Transfer-Encoding")
    let length = try Self.length(of: headers)
    if !codings.isEmpty {
      guard length == nil else { throw .notHTTP("it has both Content-Length and Transfer-Encoding") }
      guard minorVersion > 0 else { throw .notHTTP("it has a Transfer-Encoding in HTTP/1.0") }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else {
        throw .notHTTP("its Transfer-Encoding is not 'chunked' alone, and no other was asked for")
      }
    }
    if isHead || status < 200 || status == 204 || status == 304 {
      self = .none
    } else if !codings.isEmpty {
      self = .chunked
    } else if let length {
      self = length == 0 ? .none : .length(length)
    } else {
      self = .untilClose
    }
  }

  /// The one length that all fields agree on.
  private static func length(of headers: HTTPHeaders) throws(RequestError) -> Int? {
    var length: Int?
    for value in headers.values(of: "Content-Length") {
      for item in value.split(separator: ",", omittingEmptySubsequences: false) {
        let digits = item.utf8.drop(while: \.isSpaceOrTab).prefix(while: \.isDigit)
        let rest = item.utf8.drop(while: \.isSpaceOrTab).dropFirst(digits.count)
        guard rest.allSatisfy(\.isSpaceOrTab), let number = Int(Substring(digits)), length ?? number == number else {
          throw .notHTTP("its Content-Length is no number, or differs from another")
        }
        length = number
      }
    }
    return length
  }
}
