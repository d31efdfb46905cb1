import HTTPClientCore
import SystemBase

/// How much a peer may send, of a stream or of a connection (RFC 9113, section 5.2).
struct ReceiveWindow {
  private(set) var target: Int
  /// By how much it has grown.
  private(set) var growth = 0
  /// How many bytes the peer may still send.
  private(set) var available: Int
  /// How many bytes were consumed and not given back.
  private var freed = 0
  private let step: Int

  /// How much is given back at a time, at most: more often than a large window is consumed, since an update takes half a
  /// round trip, and since slow observers may have the rest of a connection's.
  static let largestStep = 1 << 20

  /// Takes the size that the window is kept at, the one that it begins with, and how much of it is given back at a time, at
  /// most.
  init(target: Int, initial: Int, step: Int = .max) {
    self.target = target
    self.step = step
    available = initial
  }

  /// Counts bytes that have arrived; returns false if they are more than was allowed, with those of the frame that are
  /// still to come.
  mutating func receive(_ count: Int, left: Int) -> Bool {
    guard count + left <= available else { return false }
    available -= count
    return true
  }

  /// Counts bytes that were consumed; returns how many to give back, once half of the window was consumed, or a step.
  mutating func free(_ count: Int) -> Int? {
    freed += count
    guard freed > 0, freed >= min(target / 2, step) else { return nil }
    defer { freed = 0 }
    available += freed
    return freed
  }

  /// Makes the window larger; the peer has to be told.
  mutating func grow(by count: Int) {
    target += count
    available += count
    growth += count
  }
}

/// What is known about one stream: a request, and its response (section 5.1).
struct HTTP2Stream {
  enum Response {
    case head, body, ended
  }

  let id: UInt32
  let isHead: Bool
  let isConnect: Bool
  /// Where its head begins among all bytes that were written, once it is.
  var start = Int.max

  /// How many bytes of the body the peer takes; less than 0 after it has lowered a setting (section 6.9.2).
  var sendWindow: Int
  /// The piece of the body that is sent, how much of it was, the pieces behind it, and how much there is of all.
  private var piece = Data()
  private var offset = 0
  private var rest = Fifo<Data>()
  private(set) var queuedCount = 0
  private(set) var sentCount = 0
  /// Whether nothing follows what is in the outbox.
  var isRequestWhole: Bool
  /// Whether the end of the request was written.
  var isRequestSent: Bool
  /// Whether it is among those that have their turn to send.
  var hasTurn = false

  var response = Response.head
  var interimResponses = 0
  /// Whether the response has no body whatever its head says.
  var hasNoBody = false
  /// The size of the body by the head.
  var expectedCount: Int?
  var receivedCount = 0
  var window: ReceiveWindow
  /// How many bytes the caller has, or is about to get, and has not consumed.
  var unconsumed = 0
  /// The place of its latest event, if that is a piece of a body.
  var lastData: Int?

  init(id: UInt32, _ head: HTTP2RequestHead, isEnd: Bool, sendWindow: Int, receiveWindow: Int) {
    self.id = id
    isHead = head.isHead
    isConnect = head.isConnect
    self.sendWindow = sendWindow
    isRequestWhole = isEnd
    isRequestSent = isEnd
    window = ReceiveWindow(target: receiveWindow, initial: receiveWindow, step: ReceiveWindow.largestStep)
  }

  /// Whether its head was written.
  var isBegun: Bool { start != .max }

  var isClosed: Bool { isRequestSent && response == .ended }

  /// Whether some of the request is waiting, if only for room in the windows.
  var isWaiting: Bool { !isRequestSent && (queuedCount > 0 || isRequestWhole) }

  /// How many bytes the next frame may have, if there is anything to send in it.
  func nextCount(within limit: Int) -> Int? {
    guard isWaiting else { return nil }
    let count = min(queuedCount, limit, sendWindow)
    return count > 0 ? count : queuedCount == 0 ? 0 : nil
  }

  mutating func queue(_ data: Data) {
    guard !data.isEmpty else { return }
    queuedCount += data.count
    if piece.isEmpty { piece = data } else { rest.append(data) }
  }

  /// Writes the next frame, of so many bytes at most: it ends with a piece of the body. Returns how many it has.
  mutating func write(_ count: Int, to writer: inout HTTP2FrameWriter) -> Int {
    let taken = min(count, piece.count - offset)
    queuedCount -= taken
    sentCount += taken
    sendWindow -= taken
    isRequestSent = queuedCount == 0 && isRequestWhole
    piece.withUnsafeBytes { bytes in
      writer.writeData(id, UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + taken]), isEnd: isRequestSent)
    }
    offset += taken
    if offset == piece.count {
      piece = rest.popFirst() ?? Data()
      offset = 0
    }
    return taken
  }
}

// Errors are the server's: its response is malformed (section 8.1.1).
extension HTTP2Stream {
  /// Takes a head; returns whether it is that of an interim response, of which there may be so many.
  mutating func receive(
    _ head: HTTPResponseHead, isEnd: Bool, interimLimit: Int
  ) throws(HTTP2StreamError) -> Bool {
    if head.status < 200 {
      guard !isEnd, head.status != 101 else {
        throw .malformed("an interim response ends the stream, or switches protocols")
      }
      interimResponses += 1
      guard interimResponses <= interimLimit else {
        throw HTTP2StreamError(.enhanceYourCalm, "more than \(interimLimit) interim responses came")
      }
      return true
    }
    // Behind any success, a tunnel begins: neither the status nor a length says anything about it (RFC 9110, section 9.3.6).
    if isConnect, head.isSuccess {
      response = .body
      return false
    }
    if head.mayHaveBody(toHead: isHead) { expectedCount = try head.contentLength() } else { hasNoBody = true }
    response = .body
    if isEnd { try checkLength() }
    return false
  }

  /// Counts a piece of the body.
  mutating func receive(_ piece: DataPiece) throws(HTTP2StreamError) {
    receivedCount += piece.bytes.count
    guard response == .body else { throw .malformed("its body comes before its head") }
    guard !hasNoBody || piece.bytes.count + piece.contentLeft == 0 else {
      throw .malformed("it has a body, which it must not have")
    }
    guard receivedCount + piece.contentLeft <= expectedCount ?? .max else {
      throw .malformed("its body is longer than its content-length")
    }
  }

  /// Checks that the body, which has ended, is as long as the head says.
  func checkLength() throws(HTTP2StreamError) {
    guard let expectedCount, !hasNoBody else { return }
    guard receivedCount == expectedCount else { throw .malformed("its body is shorter than its content-length") }
  }
}

/// The streams of a connection.
struct HTTP2StreamTable: ~Copyable {
  private var streams = StreamList<HTTP2Stream>()
  /// The streams that were reset most recently, and what the peer may still have sent on each before it knew: bytes of DATA,
  /// and frames without any.
  private var resets: [(id: UInt32, allowance: Int, frames: Int)] = []
  /// By how much the windows of all streams have grown.
  private var growth = 0
  /// The latest of those that were reset before.
  private var lastForgotten: UInt32 = 0

  private static let mostResets = 256
  /// A head, the end of a response, and a reset.
  private static let framesInFlight = 3

  subscript(index: Int) -> HTTP2Stream {
    @inline(__always) _read { yield streams[index] }
    @inline(__always) _modify { yield &streams[index] }
  }

  /// The indices of all streams, in the order in which they were opened.
  var indices: [Int] { streams.indices }

  var lastIndex: Int? { streams.lastIndex }

  func index(of id: UInt32) -> Int? { streams.index(of: id) }

  mutating func append(_ stream: HTTP2Stream) { streams.append(stream, of: stream.id) }

  mutating func remove(at index: Int) { growth -= streams.remove(at: index).window.growth }

  /// Makes the window of a stream four times as large if its observer keeps up with a large body, as far as it may grow;
  /// returns by how much.
  mutating func grow(at index: Int, _ configuration: HTTP2Configuration) -> Int {
    let target = streams[index].window.target
    guard streams[index].unconsumed < target / 2 else { return 0 }
    let limits = (configuration.largestStreamWindow - target, configuration.largestGrowth - growth)
    let count = max(0, min(3 * target, limits.0, limits.1))
    streams[index].window.grow(by: count)
    growth += count
    return count
  }

  /// Removes a stream that either side has reset: what the peer sends on it is ignored from now on (section 5.1).
  mutating func reset(at index: Int) {
    resets.append((streams[index].id, streams[index].window.available, Self.framesInFlight))
    if resets.count > Self.mostResets {
      let forgotten = resets.prefix(Self.mostResets / 2)
      lastForgotten = forgotten.reduce(lastForgotten) { max($0, $1.id) }
      resets.removeFirst(forgotten.count)
    }
    remove(at: index)
  }

  /// What has come on a stream that is not in the table.
  enum Late {
    /// What the peer may have sent before it knew that the stream was reset.
    case inFlight
    /// What it may have sent by mistake: more frames than were in flight, or anything, so long after the reset that it is
    /// not known what was.
    case stray
    /// More bytes than it may have sent.
    case excess
    /// Anything on a stream that was not reset: its response had ended.
    case behindEnd
  }

  /// Counts bytes that have arrived on a stream that is not in the table any more, or, if there are none, a frame.
  mutating func receive(_ count: Int, late id: UInt32) -> Late {
    guard let place = resets.lastIndex(where: { $0.id == id }) else { return id <= lastForgotten ? .stray : .behindEnd }
    resets[place].allowance -= count
    guard resets[place].allowance >= 0 else { return .excess }
    guard count == 0 else { return .inFlight }
    resets[place].frames -= 1
    return resets[place].frames >= 0 ? .inFlight : .stray
  }
}
