/// How the end of a response's body is found (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
  case none
  case length(Int)
  case chunked
  case untilClose

  /// Decides by the head. Ambiguous heads are refused, because they are what response smuggling relies on (section
  /// 11.2).
  init(of headers: HTTPHeaders, status: Int, minorVersion: Int, isHead: Bool) throws(RequestError) {
    let length = try Self.length(of: headers)
    let isChunked = headers.contains("Transfer-Encoding")
    if isChunked {
      let codings = headers.values(of: "Transfer-Encoding")
      guard length == nil else { throw .notHTTP("it has both Content-Length and Transfer-Encoding") }
      guard minorVersion > 0 else { throw .notHTTP("it has a Transfer-Encoding in HTTP/1.0") }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else {
        throw .notHTTP("its Transfer-Encoding is not 'chunked' alone, and no other was asked for")
      }
    }
    if isHead || status < 200 || status == 204 || status == 304 {
      self = .none
    } else if isChunked {
      self = .chunked
    } else if let length {
      self = length == 0 ? .none : .length(length)
    } else {
      self = .untilClose
    }
  }

  /// The length, on which all fields must agree.
  private static func length(of headers: HTTPHeaders) throws(RequestError) -> Int? {
    var length: Int?
    for index in headers.indices where headers[index].hasName("Content-Length") {
      let value = headers[index].value
      if let number = number(value.utf8), length ?? number == number {
        length = number
        continue
      }
      // The same length may be repeated (RFC 9110, section 8.6).
      for item in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
        guard let number = number(item), length ?? number == number else {
          throw .notHTTP("its Content-Length is not a number, or differs from another")
        }
        length = number
      }
    }
    return length
  }

  /// Digits with optional white space around them; `nil` for anything else, and for numbers that are too large.
  private static func number(_ text: some Sequence<UInt8>) -> Int? {
    var (number, isEmpty, isOver) = (0, true, false)
    for byte in text {
      switch byte {
      case _ where byte.isDigit && !isOver:
        let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
        let (sum, overflows) = product.addingReportingOverflow(Int(byte - 0x30))
        if isTooLarge || overflows { return nil }
        (number, isEmpty) = (sum, false)
      case .space, .tab: isOver = !isEmpty
      default: return nil
      }
    }
    return isEmpty ? nil : number
  }
}
