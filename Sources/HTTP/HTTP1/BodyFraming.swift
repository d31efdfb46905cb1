/// How the end of a response's body is found (RFC 9112, section 6.3).
enum BodyFraming: Equatable {
  case none
  case length(Int)
  case chunked
  case untilClose

  /// Decides by the head. Ambiguous heads are refused, because they are what response smuggling relies on (section
  /// 11.2); but a response without a body cannot be read in two ways, whatever fields it has (section 6.3, rule 1).
  init(of headers: HTTPHeaders, status: Int, minorVersion: Int, isHead: Bool) throws(RequestError) {
    if isHead || status < 200 || status == 204 || status == 304 {
      self = .none
      return
    }
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
    if isChunked {
      self = .chunked
    } else if let length {
      self = length == 0 ? .none : .length(length)
    } else {
      self = .untilClose
    }
  }

  /// The length, on which all fields must agree. An only field that is empty counts as none: the body then ends with
  /// the connection, and nothing can follow it.
  private static func length(of headers: HTTPHeaders) throws(RequestError) -> Int? {
    var length: Int?
    let lengths = headers.indices.filter { headers[$0].hasName("Content-Length") }
    if lengths.count == 1, headers[lengths[0]].value.isEmpty, !headers.contains("Transfer-Encoding") { return nil }
    for index in lengths {
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
