import Streams

/// How much a connection takes from its server.
struct HTTP2Configuration: Sendable {
  /// How many bytes of bodies may be on their way or unread, of all streams and of each: 256 slow observers, some with windows
  /// that have grown, leave the others one. Few servers allow as many streams on a connection.
  var connectionWindow = 168 << 20
  var streamWindow = 512 << 10

  /// How large the window of a stream becomes whose observer reads a large body, so that a round trip does not limit its rate, and by
  /// how much those of all streams may have grown together.
  var largestStreamWindow = 32 << 20
  var largestGrowth = 32 << 20

  /// The size of the table by which the server compresses heads.
  var headerTableSize = HPACK.defaultTableSize

  /// What a head may have. Its size counts as that of a list of fields (RFC 9113, section 6.5.2).
  var limits = MessageLimits()
}

/// What the server has set (RFC 9113, section 6.5.2).
struct PeerSettings {
  /// How many streams may be open at a time, until the settings have come.
  static let assumedStreams = 100
  static let largestWindow = Int(Int32.max)

  /// Whether the first settings have come.
  private(set) var haveArrived = false
  private(set) var headerTableSize = HPACK.defaultTableSize
  /// The least size of that table in the latest settings, if these have any.
  private(set) var leastHeaderTableSize: Int?
  private(set) var maximumStreams = assumedStreams
  private(set) var initialWindow = 65_535
  private(set) var largestFrame = 16 << 10
  /// The size of the head of a request at most.
  private(set) var largestHead = Int.max
  /// Whether a CONNECT may name a protocol (RFC 8441, section 3).
  private(set) var allowsConnectProtocol = false

  /// Takes the payload of a SETTINGS frame: in order, as a setting may occur several times.
  mutating func apply(_ payload: UnsafeRawBufferPointer) throws(HTTP2ConnectionError) {
    if !haveArrived { maximumStreams = .max }
    haveArrived = true
    leastHeaderTableSize = nil
    for start in stride(from: 0, to: payload.count - 5, by: 6) {
      let value = Int(payload.integer(at: start + 2))
      switch UInt16(payload[start]) << 8 | UInt16(payload[start + 1]) {
      case HTTP2Setting.headerTableSize:
        headerTableSize = value
        leastHeaderTableSize = min(leastHeaderTableSize ?? value, value)
      case HTTP2Setting.enablePush:
        guard value == 0 else { throw .protocolError("it sets ENABLE_PUSH, which only a client may") }
      case HTTP2Setting.maximumConcurrentStreams: maximumStreams = value
      case HTTP2Setting.initialWindowSize:
        guard value <= Self.largestWindow else { throw .flowControl("it sets a window of \(value) bytes") }
        initialWindow = value
      case HTTP2Setting.maximumFrameSize:
        guard 16_384...16_777_215 ~= value else { throw .protocolError("it sets frames of \(value) bytes") }
        largestFrame = value
      case HTTP2Setting.maximumHeaderListSize: largestHead = value
      case HTTP2Setting.enableConnectProtocol:
        // RFC 8441, section 3: it must not be taken back.
        guard value == 1 || value == 0 && !allowsConnectProtocol else {
          throw .protocolError("it sets ENABLE_CONNECT_PROTOCOL to \(value)")
        }
        allowsConnectProtocol = value == 1
      default: break
      }
    }
  }
}

/// The pings that the server has yet to answer.
struct Pings {
  private var waiting: [UInt64] = []
  private var last: UInt64 = 0

  private static let most = 16

  /// The payload of the next one; `nil` if it has not answered many others.
  mutating func next() -> UInt64? {
    guard waiting.count < Self.most else { return nil }
    last &+= 1
    waiting.append(last)
    return last
  }

  /// Records an answer; returns false if it is none.
  mutating func end(_ payload: UInt64) -> Bool {
    guard let place = waiting.firstIndex(of: payload) else { return false }
    waiting.remove(at: place)
    return true
  }
}

/// Tells a server that keeps its client busy with frames that say nothing (RFC 9113, section 10.5) from one that works:
/// such frames are counted, and the count goes down with bytes of bodies, with heads, and with time.
struct FloodGuard {
  /// The count is in bytes of a body that make good for a frame.
  private var level = 0
  private var last: Instant?

  /// Frames that were written in answer to others, since what was written before these was sent.
  private var answers = (count: 0, start: 0)
  private static let mostAnswers = 1000

  static let frame = 1 << 10
  /// What a piece of DATA counts, beside a part of its bytes, on a stream that was reset long ago. As much as the window of a
  /// connection may come in an honest way, if many requests are cancelled at once.
  static let strayPiece = 64
  static let limit = 4096 * frame
  /// How many bytes a second makes good for.
  static let perSecond = 16 * frame

  mutating func pass(_ now: Instant) {
    guard let last, now > last else {
      self.last = last ?? now
      return
    }
    let nanoseconds = Int(min(now.nanoseconds - last.nanoseconds, 1_000_000_000_000))
    let decay = nanoseconds / 1000 * Self.perSecond / 1_000_000
    // Times that are too short to count add up.
    guard decay > 0 else { return }
    self.last = now
    credit(decay)
  }

  /// Counts a frame that has to be answered, while so many bytes were taken, and written: a server must read the answers
  /// that it asks for.
  mutating func answer(taken: Int, written: Int) throws(HTTP2ConnectionError) {
    try charge()
    if taken > answers.start { answers = (0, written) }
    answers.count += 1
    guard answers.count <= Self.mostAnswers else { throw .flood("it does not read what it asks for") }
  }

  mutating func credit(_ count: Int) { level = max(0, level - count) }

  mutating func charge(_ count: Int = frame) throws(HTTP2ConnectionError) {
    level += count
    guard level <= Self.limit else { throw .flood("it sends too many frames that say nothing") }
  }
}
