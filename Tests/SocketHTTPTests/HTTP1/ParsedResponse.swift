import Foundation

@testable import HTTPClientCore
@testable import SocketHTTP

/// What a parser made of bytes that came in pieces, with the pieces of the body put together.
struct ParsedResponse: Equatable {
  var head: HTTPResponseHead?
  var body = Data()
  var trailers = HTTPHeaders()
  var leftover = 0
  var isComplete = false
  var allowsReuse = false

  /// Feeds the pieces in order, and then the end of the connection where `isClosed`.
  init(
    _ pieces: [[UInt8]], answering request: HTTP1Parser.Request = .other, limits: MessageLimits = MessageLimits(),
    isClosed: Bool = false
  ) throws {
    var parser = HTTP1Parser(answering: request, limits: limits)
    var parts: [HTTPResponsePart] = []
    for piece in pieces {
      leftover += piece.count
      leftover -= try piece.withUnsafeBytes { bytes throws in try parser.consume(bytes, into: &parts) }
    }
    if isClosed { try parser.finish() }
    for part in parts {
      switch part {
      case .head(let head): self.head = head
      case .body(let piece): body += piece
      case .trailers(let fields): trailers = fields
      }
    }
    isComplete = parser.isComplete
    allowsReuse = parser.allowsReuse
  }

  init(
    _ text: String, answering request: HTTP1Parser.Request = .other, limits: MessageLimits = MessageLimits(),
    isClosed: Bool = false
  ) throws {
    try self.init([Array(text.utf8)], answering: request, limits: limits, isClosed: isClosed)
  }
}

extension [UInt8] {
  /// All ways to cut the bytes in two, the whole, and each byte by itself.
  var splits: [[[UInt8]]] {
    indices.map { [Array(self[..<$0]), Array(self[$0...])] } + [map { [$0] }]
  }
}

/// The kind of the error that a closure throws; `nil` where it throws none.
func kindOfError(_ body: () throws -> Void) -> RequestError.Kind? {
  do {
    try body()
    return nil
  } catch {
    return (error as? RequestError)?.kind
  }
}
