import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What a server sends in the smallest pieces costs time in proportion to its bytes, however it is framed.
@Suite(.serialized) struct ReadingCostTests {
  enum Input: CaseIterable {
    case emptyLines, comments, dataLines, singleBytes
    case delimiters, emptyParts, delimitersByByte
    case chunks, chunksByByte, fields, foldedLines, foldedTrailers
    case fragments, compressedFragments, headsByByte
    case emptyBlocks, records

    /// How many are read at first.
    var count: Int {
      switch self {
      case .fields: 30
      case .foldedLines, .foldedTrailers: 10_000
      case .records: 500
      default: 2_000
      }
    }

    /// Makes so many, and returns what reads them.
    func reading(_ count: Int) throws -> () throws -> Void {
      switch self {
      case .emptyLines: Self.events("\n", count)
      case .comments: Self.events(":\n", count)
      case .dataLines: Self.events("data:\n", count)
      case .singleBytes: Self.events("data: 1\n\n", count / 8, pieces: 1)
      case .delimiters: Self.parts("\r\n---", count)
      case .emptyParts: Self.parts("\r\n---\r\n\r\n", count)
      case .delimitersByByte: Self.parts("\r\n---\r\n\r\n{}", count / 8, pieces: 1)
      case .chunks: Self.response(Self.chunked, "1\r\na\r\n", count)
      case .chunksByByte: Self.response(Self.chunked, "1\r\na\r\n", count / 4, pieces: 1)
      case .fields: Self.response(Self.start, "a:\r\n", count, end: "\r\n")
      case .foldedLines: Self.response(Self.start + "a: a\r\n", " a\n", count, end: "\r\n")
      case .foldedTrailers: Self.response(Self.chunked + "0\r\na: a\r\n", " a\n", count, end: "\r\n")
      case .fragments:
        Self.frames(ServerFrame.text("a", isFinal: false), ServerFrame.continuation([97], isFinal: false), count)
      case .compressedFragments:
        Self.frames(
          ServerFrame.bytes(1, isFinal: false, reserved: 4),
          ServerFrame.continuation([0, 0, 0, 0xFF, 0xFF], isFinal: false), count)
      case .headsByByte: Self.frames([], ServerFrame.binary([UInt8](repeating: 0, count: 126)), count / 8, pieces: 1)
      case .emptyBlocks:
        // Of a fixed code: blocks of 10 bits (RFC 1951, section 3.2.6).
        Self.frames(
          ServerFrame.bytes(1, isFinal: false, reserved: 4),
          ServerFrame.continuation(Self.fixedBlocks(count), isFinal: false), 1)
      case .records: try Self.records(count)
      }
    }

    private static let start = "HTTP/1.1 200 OK\r\n"
    private static let chunked = "\(start)Transfer-Encoding: chunked\r\n\r\n"

    private static func many(_ text: String, _ count: Int) -> Data { Data(String(repeating: text, count: count).utf8) }

    private static func events(_ text: String, _ count: Int, pieces: Int = .max) -> () throws -> Void {
      let pieces = many(text, count).parts(of: pieces)
      return {
        var parser = EventStreamParser()
        for piece in pieces { _ = try parser.consume(piece) }
      }
    }

    private static func parts(_ text: String, _ count: Int, pieces: Int = .max) -> () throws -> Void {
      let pieces = many(text, count).parts(of: pieces)
      return {
        var parser = MultipartParser(boundary: "-", endsWithJSON: true)
        for piece in pieces { _ = try parser.consume(piece) }
      }
    }

    private static func response(
      _ start: String, _ text: String, _ count: Int, end: String = "", pieces: Int = .max
    ) -> () throws -> Void {
      let pieces = (Data(start.utf8) + many(text, count) + Data(end.utf8)).parts(of: pieces)
      return {
        var limits = MessageLimits()
        limits.head = 1 << 20
        var parser = HTTP1Parser(limits: limits)
        var parts: [HTTPResponsePart] = []
        for piece in pieces { try piece.withUnsafeBytes { _ = try parser.consume($0, into: &parts) } }
      }
    }

    private static func frames(_ start: [UInt8], _ frame: [UInt8], _ count: Int, pieces: Int = .max) -> () throws ->
      Void
    {
      let bytes = start + Array(repeatElement(frame, count: count).joined())
      return {
        let compression = CompressionAgreement(serverKeepsContext: false)
        let (_, violation) = WebSocketReader.read(bytes, pieces: pieces, compression: compression)
        #expect(violation == nil)
      }
    }

    /// Four blocks take five bytes.
    private static func fixedBlocks(_ count: Int) -> [UInt8] {
      // Each is 0, 1, 0 and seven zeros, the first bit lowest.
      let block: [UInt8] = [0x02, 0x08, 0x20, 0x80, 0x00]
      return Array(repeatElement(block, count: count / 4).joined())
    }

    private static func records(_ count: Int) throws -> () throws -> Void {
      let pair = try TLSWorld.shared.get().pair()
      try #require(try pair.shake())
      for _ in 0..<count { try pair.server.write(Data("a".utf8)) }
      let bytes = try pair.server.takeOutgoing()
      return {
        pair.client.receive(bytes)
        var text = Data()
        _ = try pair.client.readAll(into: &text)
        #expect(text.count == count)
      }
    }
  }

  @Test(arguments: Input.allCases) func `many small pieces are read in linear time`(input: Input) throws {
    try expectLinearTime(input.count) { try input.reading($0) }
  }
}
