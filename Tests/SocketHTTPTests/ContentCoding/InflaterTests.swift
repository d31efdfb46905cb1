import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport
import Testing

struct InflaterTests {
  /// The three forms that a body may come in.
  enum Form: CaseIterable {
    case gzip, zlib, raw

    var coding: ContentCoding { self == .gzip ? .gzip : .deflate }

    func compress(_ data: Data) throws -> Data {
      switch self {
      case .gzip: try Compressor.gzip(data)
      case .zlib: try Compressor.zlib(data)
      case .raw: try Compressor.raw(data)
      }
    }
  }

  /// Text that compresses to about a tenth, and noise that does not.
  static let bodies: [Data] = [
    Data(), Data("x".utf8), Data((0..<20_000).flatMap { Array("moment \($0 % 1000), ".utf8) }), noise(count: 100_000),
  ]

  static func noise(count: Int) -> Data {
    var state: UInt64 = 88_172_645_463_325_252
    return Data(
      (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state)
      })
  }

  /// All that a coded body gives when it comes in pieces of this size.
  func decode(_ coded: Data, as coding: ContentCoding, piece: Int = .max, pieceSize: Int = 1000) throws -> Data {
    let inflater = try Inflater(coding, pieceSize: pieceSize)
    var result = Data()
    var rest = coded
    repeat {
      inflater.add(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      while let decoded = try inflater.next() {
        #expect(1...pieceSize ~= decoded.count)
        result += decoded
      }
    } while !rest.isEmpty
    try inflater.finish()
    return result
  }

  func error(_ coded: Data, as coding: ContentCoding, piece: Int = .max) -> RequestError? {
    #expect(throws: RequestError.self) { try decode(coded, as: coding, piece: piece) }
  }

  @Test(arguments: Form.allCases)
  func `a body comes back whole, however it is cut`(form: Form) throws {
    for body in Self.bodies {
      let coded = try form.compress(body)
      for piece in [1, 2, 3, 7, 1000, .max] where piece > 2 || coded.count < 50_000 {
        #expect(try decode(coded, as: form.coding, piece: piece) == body)
      }
    }
  }

  @Test(arguments: Form.allCases)
  func `T8: a body that ends too early is a lost connection, at every byte`(form: Form) throws {
    let coded = try form.compress(Data((0..<200).flatMap { Array("moment \($0), ".utf8) }))
    for count in 1..<coded.count {
      #expect(error(coded.prefix(count), as: form.coding)?.kind == .connectionLost, "cut at \(count)")
    }
  }

  @Test(arguments: Form.allCases)
  func `an empty body is whole`(form: Form) throws {
    #expect(try decode(Data(), as: form.coding).isEmpty)
  }

  @Test(arguments: Form.allCases)
  func `a flipped bit never gives another body`(form: Form) throws {
    let body = Data((0..<50).flatMap { Array("moment \($0), ".utf8) })
    let coded = try form.compress(body)
    // Without wrapping there is no checksum: then all that can be asked is that nothing crashes.
    for bit in 0..<coded.count * 8 {
      var flipped = coded
      flipped[flipped.startIndex + bit / 8] ^= 1 << (bit % 8)
      let decoded = try? decode(flipped, as: form.coding, piece: 100)
      if form != .raw { #expect(decoded == nil || decoded == body, "bit \(bit)") }
    }
  }

  @Test func `corrupt data is a bad response, and stays one`() throws {
    let coded = try Compressor.gzip(Self.bodies[2])
    var corrupt = coded
    corrupt[20_000 % coded.count] ^= 0xFF
    #expect(error(corrupt, as: .gzip)?.kind == .badResponse)

    let inflater = try Inflater(.gzip)
    inflater.add(Data("<html>".utf8))
    for _ in 0..<2 { #expect(throws: RequestError.self) { try inflater.next() } }
    inflater.add(coded)
    #expect(throws: RequestError.self) { try inflater.next() }
    #expect(throws: RequestError.self) { try inflater.finish() }
  }

  @Test func `a wrong checksum or length is a bad response`() throws {
    let coded = try Compressor.gzip(Data("moments".utf8))
    for offset in 1...8 {
      var wrong = coded
      wrong[wrong.endIndex - offset] ^= 1
      #expect(error(wrong, as: .gzip)?.kind == .badResponse, "byte \(offset) from the end")
    }
  }

  @Test(arguments: [1, 5, .max])
  func `the members of a gzip body follow one another`(piece: Int) throws {
    let members = try Self.bodies.prefix(3).map(Compressor.gzip)
    #expect(try decode(Data(members.joined()), as: .gzip, piece: piece) == Data(Self.bodies.prefix(3).joined()))
  }

  @Test func `a second member that ends too early is a lost connection`() throws {
    let member = try Compressor.gzip(Data("moments".utf8))
    for count in 1..<member.count {
      #expect(error(member + member.prefix(count), as: .gzip)?.kind == .connectionLost, "cut at \(count)")
    }
  }

  @Test func `T3: members without content, blocks without content and a name without end are a bad response`() throws {
    let empty = try Compressor.gzip(Data())
    let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    let named = header.enumerated().map { $0 == 3 ? 8 : $1 }
    let streams: [(start: [UInt8], piece: [UInt8])] = [
      ([], Array(empty)), (header, [0, 0, 0, 0xFF, 0xFF]), (named, Array("name".utf8)),
    ]
    for (start, piece) in streams {
      let inflater = try Inflater(.gzip)
      inflater.add(Data(start))
      var count = 0
      let error = #expect(throws: RequestError.self) {
        while count < 4 << 20 {
          inflater.add(Data(repeatElement(piece, count: 1_000).joined()))
          count += 1_000 * piece.count
          while try inflater.next() != nil {}
        }
      }
      #expect(error?.kind == .badResponse)
      #expect(count < 256 << 10)
    }
  }

  @Test func `many members of a byte each are as good as one`() throws {
    let member = try Compressor.gzip(Data("x".utf8))
    let body = try decode(Data(repeatElement(member, count: 50_000).joined()), as: .gzip)
    #expect(body.count == 50_000)
  }

  @Test(arguments: Form.allCases, [1, .max])
  func `bytes after the end are a bad response`(form: Form, piece: Int) throws {
    let coded = try form.compress(Data("moments".utf8)) + Data("garbage".utf8)
    #expect(error(coded, as: form.coding, piece: piece)?.kind == .badResponse)
  }

  @Test func `a preset dictionary is a bad response`() throws {
    #expect(error(Data([0x78, 0xBB, 1, 2, 3, 4, 5, 6]), as: .deflate)?.kind == .badResponse)
  }

  @Test func `T3: a bomb of 1 MB is decoded no further than it is taken`() throws {
    let member = try Compressor.gzip(Data(count: 16 << 20))
    let bomb = Data(repeatElement(member, count: 64).joined())
    #expect(bomb.count > 1_000_000)
    #expect(bomb.count < 1_100_000)
    let inflater = try Inflater(.gzip)
    inflater.add(bomb)
    let before = try #require(ProcessUsage.current).memory
    var count = 0
    while count < 20 << 20, let piece = try inflater.next() {
      #expect(piece.count <= 32 * 1024)
      count += piece.count
    }
    #expect(count == 20 << 20)
    // Other tests use memory at the same time; the whole bomb would make 1 GiB.
    #expect(try #require(ProcessUsage.current).memory - before < 256 << 20)
  }

  @Test func `a whole bomb is counted as decoded`() throws {
    let inflater = try Inflater(.deflate)
    inflater.add(try Compressor.zlib(Data(count: 16 << 20)))
    var count = 0
    while let piece = try inflater.next() { count += piece.count }
    try inflater.finish()
    #expect(count == 16 << 20)
  }
}
