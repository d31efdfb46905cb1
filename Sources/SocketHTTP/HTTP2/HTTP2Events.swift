import HTTPClientCore
import SystemBase

/// What has come of what a connection has received.
enum HTTP2Event: Equatable {
  /// The head of an interim response.
  case informational(stream: UInt32, HTTPResponseHead)
  /// The head of the response.
  case head(stream: UInt32, HTTPResponseHead)
  /// The next piece of its body, which is never empty; to be given back by `consumed`.
  case data(stream: UInt32, Data)
  /// The fields behind the body.
  case trailers(stream: UInt32, HTTPHeaders)
  /// The end of the response. If the stream is not closed, the request is still to be sent: `closed` follows.
  case end(stream: UInt32, isClosed: Bool)
  /// After `end`: the request has been sent, too, or the server does not want the rest.
  case closed(stream: UInt32)
  /// The stream has ended without the end of a response.
  case reset(stream: UInt32, HTTP2Reset)
  /// The server takes no more streams, and answers those up to the last one.
  case goAway(lastStream: UInt32, HTTP2ErrorCode, text: String)
  /// How many streams may be open at a time from now on.
  case limit(Int)
  /// The server has answered a ping.
  case pong(UInt64)
}

/// Why a stream has ended before its response had.
struct HTTP2Reset: Equatable {
  enum Cause: Equatable {
    /// The server has reset the stream.
    case peer
    /// The server has closed the connection to streams as late as this one.
    case goAway
    /// The server takes fewer streams than when this one was to be begun.
    case limit
    /// The response is not valid, for this reason.
    case malformed(String)
    /// The head or the trailers are larger than this many bytes, or have too many fields.
    case tooLarge(Int)
  }

  let code: HTTP2ErrorCode
  let cause: Cause

  /// Whether the server has certainly not processed any of the request (RFC 9113, section 8.7): then it may be sent again,
  /// whatever it does.
  var isUnprocessed: Bool { cause == .goAway || cause == .limit || cause == .peer && code == .refusedStream }

  /// Whether the code is the server's.
  var isByServer: Bool { cause == .peer || cause == .goAway }

  /// The error that observers get.
  var error: RequestError {
    let reached: RequestError.Reach = isUnprocessed ? .never : .maybe
    return switch cause {
    case .peer: RequestError(.connectionLost, "The server ended the exchange with \(code).", reached: reached)
    case .limit:
      RequestError(.connectionLost, "The server takes no more requests on this connection for now.", reached: reached)
    case .goAway:
      RequestError(
        .connectionLost,
        "The server closed the connection before it took the request\(code == .noError ? "" : ", with \(code)").",
        reached: reached)
    case .malformed(let reason): RequestError(.badResponse, "The response is not valid HTTP/2: \(reason).")
    case .tooLarge(let limit):
      RequestError(.tooLarge, "The head of the response is larger than \(limit) bytes, or has too many fields.")
    }
  }
}

/// Events that were not taken yet. Pieces of a body that follow one another in a stream are joined, so that small ones
/// take no more memory than the stream's window.
struct HTTP2EventQueue {
  private var elements: ContiguousArray<HTTP2Event?> = []
  private var head = 0
  /// How many events were taken before those in `elements`.
  private var base = 0

  /// How large a piece of a body becomes when others are joined to it.
  private static let largestJoined = 64 << 10

  var isEmpty: Bool { head == elements.count }

  mutating func append(_ event: HTTP2Event) { elements.append(event) }

  mutating func popFirst() -> HTTP2Event? {
    while head < elements.count {
      let event = elements[head].take()
      head += 1
      if head == elements.count || head >= 64 && head * 2 >= elements.count {
        elements.removeSubrange(..<head)
        base += head
        head = 0
      }
      if let event { return event }
    }
    return nil
  }

  /// Appends a piece of a body, behind which so many bytes are expected. `last` is the place of the stream's latest event,
  /// if that is such a piece; it becomes that of this one.
  mutating func append(_ bytes: UnsafeRawBufferPointer, of stream: UInt32, expecting rest: Int, last: inout Int?) {
    if let place = last, place >= base + head, case .data(_, var data) = elements[place - base],
      data.count + bytes.count <= Self.largestJoined
    {
      // Taken out, so that it is not copied.
      elements[place - base] = nil
      data.append(contentsOf: bytes.bindMemory(to: UInt8.self))
      elements[place - base] = .data(stream: stream, data)
      return
    }
    last = base + elements.count
    var data = Data(capacity: min(bytes.count + max(rest, 0), max(bytes.count, Self.largestJoined)))
    data.append(contentsOf: bytes.bindMemory(to: UInt8.self))
    elements.append(.data(stream: stream, data))
  }

  /// Drops what is left of a stream.
  mutating func removeAll(of stream: UInt32) {
    for place in head..<elements.count where elements[place]?.stream == stream { elements[place] = nil }
  }
}

extension HTTP2Event {
  /// The stream that it is about, if it is about one.
  var stream: UInt32? {
    switch self {
    case .informational(let stream, _), .head(let stream, _), .data(let stream, _), .trailers(let stream, _),
      .end(let stream, _), .closed(let stream), .reset(let stream, _):
      stream
    case .goAway, .limit, .pong: nil
    }
  }
}

/// How far a request has come.
struct HTTP2Progress: Equatable {
  /// Whether its head was written, which goes out whatever becomes of the rest.
  let isBegun: Bool
  /// Whether any of it was taken from the output: if not, the server cannot have seen it.
  let hasLeft: Bool
  /// How many bytes of its body wait here.
  let queued: Int
  /// How many bytes of its body were written into frames.
  let written: Int
  /// Whether all of it was.
  let isWritten: Bool
}
