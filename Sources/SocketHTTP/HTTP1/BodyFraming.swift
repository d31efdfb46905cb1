import HTTPClientCore
import SystemBase

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
        throw .notHTTP("its Transfer-Encoding is not 'chunked' alone, and no other was requested")
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
  static func length(of headers: HTTPHeaders) throws(RequestError) -> Int? {
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

/// Decodes the chunked transfer coding (RFC 9112, section 7.1): a state machine over bytes.
///
/// The lines around chunks must end with CR LF, those of trailers may end with LF alone, as in a head. Both are limited in
/// size; extensions are checked, and dropped.
struct ChunkedDecoder {
  private enum State {
    case size, spaceBeforeExtension, `extension`, endOfSize, data, endOfData, lineFeedAfterData, trailers, end
  }

  private let limits: MessageLimits
  private var state = State.size
  private var digits = 0
  private var lineLength = 0
  private var remaining = 0
  /// Bytes of framing beyond what the bytes of the body account for.
  private var overhead = 0
  private var lines = LineBuffer()
  /// The fields behind the last chunk, once it is complete.
  private(set) var trailers = HTTPHeaders()

  /// How many bytes of framing one byte of the body accounts for: a chunk of a single byte takes at least 5.
  private static let overheadPerByte = 16

  init(limits: MessageLimits) {
    self.limits = limits
  }

  /// Whether the last chunk and the trailers have been read.
  var isComplete: Bool { state == .end }

  /// Reads the next bytes, appends those of the body to `body`, and returns how many were consumed: all of them unless
  /// the body is complete.
  mutating func consume(_ input: UnsafeRawBufferPointer, into body: inout Data) throws(RequestError) -> Int {
    var position = 0
    while position < input.count, state != .end {
      switch state {
      case .data:
        let count = min(remaining, input.count - position)
        body.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[position..<position + count]))
        remaining -= count
        position += count
        overhead = max(overhead - count * Self.overheadPerByte, 0)
        if remaining == 0 { state = .endOfData }
      case .trailers:
        position += try consumeTrailers(UnsafeRawBufferPointer(rebasing: input[position...]))
      default:
        try consumeByte(input[position])
        position += 1
      }
    }
    return position
  }

  private mutating func consumeByte(_ byte: UInt8) throws(RequestError) {
    lineLength += 1
    overhead += 1
    guard overhead <= limits.chunkOverhead else {
      throw RequestError(.tooLarge, "The chunks of the response contain little but their framing.")
    }
    guard lineLength <= limits.chunkLine else {
      throw RequestError(.tooLarge, "The line before a chunk is longer than \(limits.chunkLine) bytes.")
    }
    switch (state, byte) {
    case (.size, _):
      try consumeSize(byte)
    case (.spaceBeforeExtension, UInt8(ascii: ";")):
      state = .extension
    // Some servers pad the size to a fixed width.
    case (.spaceBeforeExtension, .carriageReturn):
      state = .endOfSize
    case (.spaceBeforeExtension, _) where byte.isSpaceOrTab:
      break
    case (.extension, .carriageReturn):
      state = .endOfSize
    case (.extension, _) where byte.isFieldByte:
      break
    case (.endOfSize, .lineFeed):
      state = remaining == 0 ? .trailers : .data
    case (.endOfData, .carriageReturn):
      state = .lineFeedAfterData
    case (.lineFeedAfterData, .lineFeed):
      (state, digits, lineLength) = (.size, 0, 0)
    default:
      throw .notHTTP("a chunk is not framed correctly")
    }
  }

  private mutating func consumeSize(_ byte: UInt8) throws(RequestError) {
    if let digit = byte.hexDigitValue {
      guard remaining <= (Int.max - digit) >> 4 else { throw .notHTTP("the size of a chunk is too large") }
      remaining = remaining << 4 + digit
      digits += 1
      return
    }
    guard digits > 0 else { throw .notHTTP("a chunk has no size") }
    switch byte {
    case .carriageReturn: state = .endOfSize
    case UInt8(ascii: ";"): state = .extension
    case .space, .tab: state = .spaceBeforeExtension
    default: throw .notHTTP("the size of a chunk is not a hexadecimal number")
    }
  }

  private mutating func consumeTrailers(_ input: UnsafeRawBufferPointer) throws(RequestError) -> Int {
    let (count, isWhole) = lines.append(input)
    guard lines.bytes.count <= limits.head else {
      throw RequestError(.tooLarge, "The trailers are larger than \(limits.head) bytes.")
    }
    if isWhole {
      let limit = limits.fields
      let fields = try lines.bytes.withBytes { bytes throws(RequestError) in
        var parser = FieldParser(bytes)
        return try parser.fields(upTo: limit)
      }
      trailers = HTTPHeaders(fields)
      state = .end
      lines = LineBuffer()
    }
    return count
  }
}
