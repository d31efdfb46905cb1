import Foundation
import HTTPClientCore
import Streams

@testable import SocketHTTP

/// Frames as a server sends them, made byte by byte, and without the code that is tested. They are not inlined: the optimiser
/// would take minutes over the tests.
enum HTTP2ServerFrame {
  @inline(never) static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = [])
    -> [UInt8]
  {
    let count = payload.count
    return [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags] + bytes(stream) + payload
  }

  @inline(never) static func bytes(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(number >> $0 & 0xFF) } }

  @inline(never) static func settings(_ pairs: [(UInt16, UInt32)] = []) -> [UInt8] {
    frame(4, 0, 0, pairs.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + bytes($0.1) })
  }

  static let acknowledgement = frame(4, 1)

  @inline(never) static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { [0] + string($0.0) + string($0.1) }
  }

  @inline(never) private static func string(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
    var (size, rest) = ([UInt8(127)], bytes.count - 127)
    while rest >= 128 {
      size.append(UInt8(rest & 0x7F | 0x80))
      rest >>= 7
    }
    return size + [UInt8(rest)] + bytes
  }

  @inline(never) static func headers(_ stream: UInt32, _ fields: [(String, String)], isEnd: Bool = false) -> [UInt8] {
    frame(1, isEnd ? 5 : 4, stream, block(fields))
  }

  @inline(never) static func head(
    _ stream: UInt32, _ status: Int = 200, _ fields: [(String, String)] = [], isEnd: Bool = false
  )
    -> [UInt8]
  {
    headers(stream, [(":status", "\(status)")] + fields, isEnd: isEnd)
  }

  @inline(never) static func data(_ stream: UInt32, _ payload: [UInt8], isEnd: Bool = false) -> [UInt8] {
    frame(0, isEnd ? 1 : 0, stream, payload)
  }

  @inline(never) static func data(_ stream: UInt32, _ text: String, isEnd: Bool = false) -> [UInt8] {
    data(stream, Array(text.utf8), isEnd: isEnd)
  }

  @inline(never) static func padded(_ stream: UInt32, _ text: String, padding: Int, isEnd: Bool = false) -> [UInt8] {
    frame(0, isEnd ? 9 : 8, stream, [UInt8(padding)] + text.utf8 + [UInt8](repeating: 0, count: padding))
  }

  @inline(never) static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { frame(3, 0, stream, bytes(code)) }

  @inline(never) static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
    frame(8, 0, stream, bytes(increment))
  }

  @inline(never) static func ping(_ byte: UInt8, isAnswer: Bool = false) -> [UInt8] {
    frame(6, isAnswer ? 1 : 0, 0, [0, 0, 0, 0, 0, 0, 0, byte])
  }

  @inline(never) static func goAway(_ last: UInt32, _ code: UInt32 = 0, _ text: String = "") -> [UInt8] {
    frame(7, 0, 0, bytes(last) + bytes(code) + text.utf8)
  }
}

/// A frame that the client has sent.
struct HTTP2ClientFrame: Equatable {
  let type: UInt8
  var flags: UInt8 = 0
  var stream: UInt32 = 0
  var payload: [UInt8] = []

  var number: UInt32 { payload.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } }

  @inline(never) static func reset(_ stream: UInt32, _ code: HTTP2ErrorCode) -> HTTP2ClientFrame {
    HTTP2ClientFrame(type: 3, stream: stream, payload: HTTP2ServerFrame.bytes(code.rawValue))
  }

  @inline(never) static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> HTTP2ClientFrame {
    HTTP2ClientFrame(type: 8, stream: stream, payload: HTTP2ServerFrame.bytes(increment))
  }

  @inline(never) static func data(_ stream: UInt32, _ payload: [UInt8], isEnd: Bool = false) -> HTTP2ClientFrame {
    HTTP2ClientFrame(type: 0, flags: isEnd ? 1 : 0, stream: stream, payload: payload)
  }

  /// Removes the frames from bytes that begin with one; those that are not whole stay.
  @inline(never) static func take(from bytes: inout [UInt8]) -> [HTTP2ClientFrame] {
    var (frames, position) = ([HTTP2ClientFrame](), 0)
    while bytes.count - position >= 9 {
      let head = bytes[position..<position + 9].map(Int.init)
      let count = head[0] << 16 | head[1] << 8 | head[2]
      guard bytes.count - position >= 9 + count else { break }
      frames.append(
        HTTP2ClientFrame(
          type: UInt8(head[3]), flags: UInt8(head[4]), stream: head[5...].reduce(0) { $0 << 8 | UInt32($1) },
          payload: Array(bytes[position + 9..<position + 9 + count])))
      position += 9 + count
    }
    bytes.removeFirst(position)
    return frames
  }
}

/// A machine with a server that is played by a test.
final class HTTP2Driver {
  var machine: HTTP2Machine
  var now = Instant(nanoseconds: 0)
  private(set) var failure: HTTP2ConnectionError?
  private var output: [UInt8] = []
  private var hasPreface = false
  private var decoder = HPACKDecoder()

  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// Unless `settings` is nil, the server has sent these, and the client's beginning is taken off.
  init(
    _ configuration: HTTP2Configuration = HTTP2Configuration(), settings: [(UInt16, UInt32)]? = [],
    firstStream: UInt32 = 1
  ) {
    machine = HTTP2Machine(configuration, firstStream: firstStream)
    guard let settings else { return }
    receive(HTTP2ServerFrame.settings(settings) + HTTP2ServerFrame.acknowledgement)
    _ = takeFrames()
  }

  /// Receives bytes, and returns what has come of them.
  @discardableResult @inline(never)
  func receive(_ bytes: [UInt8], pieces size: Int = .max) -> [HTTP2Event] {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Each piece in memory of its own, so that reading beyond it can be found.
      let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, rest.count), alignment: 1)
      defer { piece.deallocate() }
      piece.copyBytes(from: rest.prefix(size))
      rest = rest.dropFirst(size)
      do throws(HTTP2ConnectionError) {
        try machine.receive(UnsafeRawBufferPointer(piece), at: now)
      } catch {
        failure = error
        break
      }
    }
    return events()
  }

  @inline(never)
  func events() -> [HTTP2Event] {
    var events: [HTTP2Event] = []
    while let event = machine.nextEvent() { events.append(event) }
    return events
  }

  /// The bytes that the client has sent, without those that were taken.
  @inline(never)
  func takeBytes(upTo count: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, let piece = machine.withOutput({ Array($0.prefix(count - bytes.count)) }) {
      machine.didWrite(piece.count)
      bytes += piece
    }
    return bytes
  }

  /// The frames that the client has sent.
  @inline(never)
  func takeFrames() -> [HTTP2ClientFrame] {
    output += takeBytes()
    if !hasPreface, output.starts(with: Self.preface) {
      output.removeFirst(Self.preface.count)
      hasPreface = true
    }
    return HTTP2ClientFrame.take(from: &output)
  }

  /// Opens a stream with a request.
  @discardableResult @inline(never)
  func open(_ method: String = "GET", isEnd: Bool = true, _ headers: HTTPHeaders = [:]) -> UInt32 {
    machine.open(.sample(method, headers), isEnd: isEnd) ?? 0
  }

  /// The fields of a HEADERS frame of the client's: of each one, and in order.
  func fields(_ frame: HTTP2ClientFrame) throws -> [[String]] { try decoder.decode(frame.payload).fields.map(\.texts) }
}

extension HTTP2RequestHead {
  @inline(never)
  static func sample(_ method: String = "GET", _ headers: HTTPHeaders = [:]) -> HTTP2RequestHead {
    guard let url = URL(string: "https://example.com/graphql"),
      let request = try? HTTPRequest(method: .get, url: url, headers: headers)
    else { preconditionFailure("The URL is valid.") }
    var head = HTTP2RequestHead(request)
    head.method = method
    return head
  }
}
