import SystemBase

/// How much a peer may send, of a stream or of a connection (RFC 9113, section 5.2).
struct ReceiveWindow {
  private let target: Int
  /// How many bytes the peer may still send.
  private(set) var available: Int
  /// How many bytes were consumed and not given back.
  private var freed = 0

  /// Takes the size that the window is kept at, and the one that it begins with.
  init(target: Int, initial: Int) {
    self.target = target
    available = initial
  }

  /// Counts bytes that have arrived; returns false if they are more than was allowed, with those of the frame that are
  /// still to come.
  mutating func receive(_ count: Int, left: Int) -> Bool {
    guard count + left <= available else { return false }
    available -= count
    return true
  }

  /// Counts bytes that were consumed; returns how many to give back, once half of the window was consumed.
  mutating func free(_ count: Int) -> Int? {
    freed += count
    guard freed > 0, freed >= target / 2 else { return nil }
    defer { freed = 0 }
    available += freed
    return freed
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
  /// Where its head begins among all bytes that were written.
  let start: Int

  /// How many bytes of the body the peer takes; less than 0 after it has lowered a setting (section 6.9.2).
  var sendWindow: Int
  /// What is to be sent of the body, how much of the first piece was, and how much there is of all.
  private var outbox = Fifo<Data>()
  private var offset = 0
  private(set) var queuedCount = 0
  private(set) var sentCount = 0
  /// Whether nothing follows what is in the outbox.
  var isRequestWhole: Bool
  /// Whether the end of the request was written.
  var isRequestSent: Bool

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

  init(id: UInt32, _ head: HTTP2RequestHead, isEnd: Bool, start: Int, sendWindow: Int, receiveWindow: Int) {
    self.id = id
    isHead = head.isHead
    isConnect = head.isConnect
    self.start = start
    self.sendWindow = sendWindow
    isRequestWhole = isEnd
    isRequestSent = isEnd
    window = ReceiveWindow(target: receiveWindow, initial: receiveWindow)
  }

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
    outbox.append(data)
  }

  /// Writes the next frame, of so many bytes at most: it ends with a piece of the body. Returns how many it has.
  mutating func write(_ count: Int, to writer: inout HTTP2FrameWriter) -> Int {
    let first = outbox.first ?? Data()
    let taken = min(count, first.count - offset)
    queuedCount -= taken
    sentCount += taken
    sendWindow -= taken
    isRequestSent = queuedCount == 0 && isRequestWhole
    first.withUnsafeBytes { bytes in
      writer.writeData(id, UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + taken]), isEnd: isRequestSent)
    }
    offset += taken
    if offset == first.count {
      _ = outbox.popFirst()
      offset = 0
    }
    return taken
  }
}

/// The streams of a connection, in the order in which they were opened, which is that of their identifiers.
struct HTTP2StreamTable {
  private(set) var streams: ContiguousArray<HTTP2Stream> = []
  /// The streams that were reset most recently, and how much the peer may still have sent on each before it knew.
  private var resets: [(id: UInt32, allowance: Int)] = []
  /// The latest of those that were reset before.
  private var lastForgotten: UInt32 = 0

  private static let mostResets = 256

  subscript(index: Int) -> HTTP2Stream {
    @inline(__always) _read { yield streams[index] }
    @inline(__always) _modify { yield &streams[index] }
  }

  func index(of id: UInt32) -> Int? {
    let index = streams.partitioningIndex { $0.id >= id }
    return index < streams.count && streams[index].id == id ? index : nil
  }

  mutating func append(_ stream: HTTP2Stream) { streams.append(stream) }

  mutating func remove(at index: Int) { streams.remove(at: index) }

  /// Removes a stream that either side has reset: what the peer sends on it is ignored from now on (section 5.1).
  mutating func reset(at index: Int) {
    resets.append((streams[index].id, streams[index].window.available))
    if resets.count > Self.mostResets {
      let forgotten = resets.prefix(Self.mostResets / 2)
      lastForgotten = forgotten.reduce(lastForgotten) { max($0, $1.id) }
      resets.removeFirst(forgotten.count)
    }
    streams.remove(at: index)
  }

  /// What may come on a stream that is not in the table.
  enum Closed {
    /// Nothing: the response has ended.
    case nothing
    /// Anything, as it was reset; `false` if there are more bytes than the peer may have sent.
    case reset(isWithin: Bool)
  }

  /// Counts bytes that have arrived on a stream that is not in the table any more.
  mutating func receive(_ count: Int, onClosed id: UInt32) -> Closed {
    if let place = resets.lastIndex(where: { $0.id == id }) {
      resets[place].allowance -= count
      return .reset(isWithin: resets[place].allowance >= 0)
    }
    return id <= lastForgotten ? .reset(isWithin: true) : .nothing
  }
}
