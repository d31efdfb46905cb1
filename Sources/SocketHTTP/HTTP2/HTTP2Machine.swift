import HTTPClientCore
import Streams
import SystemBase

/// The client's side of an HTTP/2 connection (RFC 9113): a state machine that turns requests into bytes, and bytes into
/// events. It knows nothing about sockets, and never waits.
///
/// What it keeps is limited, whatever the server sends: one frame and one block of fields, two tables of HPACK, bodies up
/// to the connection's window until they are consumed, and a few words for each stream that the caller has opened.
struct HTTP2Machine: ~Copyable {
  private let configuration: HTTP2Configuration
  private var reader = HTTP2FrameReader()
  private var writer = HTTP2FrameWriter()
  private var decoder: HPACKDecoder
  private var encoder = RequestHeadEncoder()
  /// The heads of streams that are to be written, and some of streams that have ended.
  private var heads = Fifo<(stream: UInt32, head: HTTP2RequestHead, isEnd: Bool)>()

  private var streams = HTTP2StreamTable()
  private var events = HTTP2EventQueue()
  private var nextStream: UInt32
  /// The latest stream whose head was written: those after it are idle to the server (section 5.1.1).
  private var lastBegun: UInt32 = 0
  /// How many streams are open: those that count for the server's limit (section 5.1.2).
  private(set) var openCount = 0
  /// The streams that have something of their request waiting, in the order of their turns, and some that had.
  private var senders = Fifo<UInt32>()

  private(set) var peer = PeerSettings()
  private var sendWindow = 65_535
  private var window: ReceiveWindow
  private var flood = FloodGuard()
  /// How many bytes had been written when the output was last looked at.
  private var offeredCount = 0
  /// Whether the server has not acknowledged the settings yet (section 6.5.3).
  private(set) var awaitsAcknowledgement = true
  private var pings = Pings()

  /// Set once the server, or `shutDown`, has closed the connection to new streams.
  private(set) var isGoingAway = false
  /// Whether the client opens no more streams, which it has not told the server.
  private var opensNoMore = false
  /// The error with which the connection has ended.
  private(set) var failure: HTTP2ConnectionError?

  /// How many bytes are written ahead of what is taken, so that a head or an answer need not wait for long.
  private static let writtenAhead = 64 << 10
  /// How many bytes may wait for a server that does not read, before no more streams are opened.
  private static let mostWritten = 1 << 20
  /// How many heads may wait for a server that does not read.
  private static let mostHeads = 1000
  /// The size of DATA frames at most, so that the streams take turns.
  private static let largestData = 16 << 10
  private static let lastStream = UInt32(Int32.max)

  /// Begins a connection: the preface, the settings and the connection's window are to be sent first (section 3.4). The
  /// identifier of its first stream must be odd.
  init(_ configuration: HTTP2Configuration = HTTP2Configuration(), firstStream: UInt32 = 1) {
    var configuration = configuration
    // Section 6.9.2: the connection's window begins with this size, and is changed by WINDOW_UPDATE alone.
    configuration.connectionWindow = min(max(configuration.connectionWindow, 65_535), PeerSettings.largestWindow)
    configuration.streamWindow = min(max(configuration.streamWindow, 1), PeerSettings.largestWindow)
    self.configuration = configuration
    nextStream = firstStream
    let (limits, target) = (configuration.limits, configuration.connectionWindow)
    decoder = HPACKDecoder(listLimit: limits.head, fieldLimit: limits.fields)
    writer.writePreface()
    var settings: [(identifier: UInt16, value: UInt32)] = [
      (HTTP2Setting.enablePush, 0),
      (HTTP2Setting.initialWindowSize, UInt32(clamping: configuration.streamWindow)),
      (HTTP2Setting.maximumHeaderListSize, UInt32(clamping: limits.head)),
    ]
    if configuration.headerTableSize != HPACK.defaultTableSize {
      settings.append((HTTP2Setting.headerTableSize, UInt32(clamping: configuration.headerTableSize)))
    }
    writer.writeSettings(settings)
    window = ReceiveWindow(target: target, initial: target, step: ReceiveWindow.largestStep)
    if target > 65_535 { writer.writeWindowUpdate(0, increment: target - 65_535) }
  }

  // MARK: - Requests

  /// Whether no stream can be opened any more, whatever the server says.
  var takesNoMore: Bool { isGoingAway || opensNoMore || nextStream > Self.lastStream }

  /// How many streams may be opened now.
  var room: Int {
    guard failure == nil, !takesNoMore, writer.count < Self.mostWritten, heads.count < Self.mostHeads else { return 0 }
    return max(0, peer.maximumStreams - openCount)
  }

  /// Opens a stream with the head of a request; `isEnd` says that it has no body. Returns the stream's identifier, or
  /// `nil` if there is no room for one. For a protocol on it, `peer.allowsConnectProtocol` must be set (RFC 8441).
  mutating func open(_ head: HTTP2RequestHead, isEnd: Bool) -> UInt32? {
    guard room > 0 else { return nil }
    let id = nextStream
    nextStream += 2
    openCount += 1
    streams.append(
      HTTP2Stream(
        id: id, head, isEnd: isEnd, sendWindow: peer.initialWindow, receiveWindow: configuration.streamWindow))
    if heads.isEmpty, mayWriteHead { write(head, of: id, isEnd: isEnd) } else { heads.append((id, head, isEnd)) }
    if takesNoMore { events.append(.limit(0)) }
    return id
  }

  /// Takes the next bytes of a request's body, and whether they are the last ones. They wait here for room in the
  /// windows, so give more only once `progress` has few of them left. Bytes for a stream that has ended are dropped.
  mutating func send(_ data: Data, on stream: UInt32, isEnd: Bool) {
    guard failure == nil, let index = streams.index(of: stream), !streams[index].isRequestWhole else { return }
    streams[index].queue(data)
    streams[index].isRequestWhole = isEnd
    if streams[index].isWaiting, !streams[index].hasTurn { giveTurn(at: index) }
  }

  /// How far a request has come; `nil` if its stream has ended.
  func progress(of stream: UInt32) -> HTTP2Progress? {
    streams.index(of: stream).map { index in
      HTTP2Progress(
        isBegun: streams[index].isBegun, hasLeft: writer.takenCount > streams[index].start,
        queued: streams[index].queuedCount, written: streams[index].sentCount,
        isWritten: streams[index].isRequestSent)
    }
  }

  /// The streams that have not ended, in the order in which they were opened.
  var unfinishedStreams: [UInt32] {
    streams.indices.filter { streams[$0].response != .ended }.map { streams[$0].id }
  }

  /// Ends a stream that nobody is interested in any more, and drops its events. If its head is still to be written, it never
  /// is.
  mutating func cancel(_ stream: UInt32) {
    guard let index = streams.index(of: stream) else { return }
    events.removeAll(of: stream)
    end(at: index, .cancel)
  }

  /// Records that so many bytes of a body were read: the server may send more. What nobody reads keeps it from sending,
  /// the stream first, and all others once that is as much as the connection's window.
  mutating func consumed(_ count: Int, on stream: UInt32) {
    guard failure == nil, let index = streams.index(of: stream) else { return }
    let count = min(max(count, 0), streams[index].unconsumed)
    streams[index].unconsumed -= count
    free(count)
    if streams[index].response == .ended {
      if streams[index].isClosed, streams[index].unconsumed == 0 { streams.remove(at: index) }
    } else if let increment = streams[index].window.free(count) {
      writer.writeWindowUpdate(stream, increment: increment + streams.grow(at: index, configuration))
    }
  }

  /// Asks the server for a sign of life; returns the number that comes with the event of its answer, or `nil` if it has not
  /// answered many others.
  mutating func ping() -> UInt64? {
    guard failure == nil, let payload = pings.next() else { return nil }
    writer.writePing(payload, isAcknowledgement: false)
    return payload
  }

  /// Opens no more streams. The server is not told as long as others are open: there are some that drop them then.
  mutating func stopOpening() {
    guard failure == nil, !takesNoMore else { return }
    opensNoMore = true
    events.append(.limit(0))
  }

  /// Says that no more streams will be opened, and why. Those that the server knows go on.
  mutating func shutDown(_ code: HTTP2ErrorCode = .noError) {
    guard failure == nil, !isGoingAway else { return }
    isGoingAway = true
    heads = Fifo()
    writer.writeGoAway(code, text: "")
    events.append(.limit(0))
  }

  // MARK: - Output

  /// Calls a closure with the next bytes to send; returns `nil` if there are none.
  mutating func withOutput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    if failure == nil { writeHeads() }
    // DATA must come behind the head.
    if heads.isEmpty { writeData() }
    offeredCount = writer.writtenCount
    let bytes = writer.bytes
    return bytes.isEmpty ? nil : body(bytes)
  }

  /// Records that so many of the bytes were taken.
  mutating func didWrite(_ count: Int) {
    writer.removeFirst(count)
  }

  /// Whether all that was offered was taken: what has to wait may still be cancelled unseen, unless it is compressed.
  private var mayWriteHead: Bool { writer.takenCount >= offeredCount && writer.count < Self.writtenAhead }

  private mutating func writeHeads() {
    while mayWriteHead, let next = heads.popFirst() { write(next.head, of: next.stream, isEnd: next.isEnd) }
  }

  private mutating func write(_ head: HTTP2RequestHead, of stream: UInt32, isEnd: Bool) {
    guard let index = streams.index(of: stream) else { return }
    streams[index].start = writer.writtenCount
    lastBegun = stream
    encoder.encode(head)
    encoder.block.withUnsafeBytes { writer.writeHeaders(stream, $0, isEnd: isEnd, largestFrame: peer.largestFrame) }
  }

  /// Writes DATA, a frame of each stream in turn that has some and whose windows have room.
  private mutating func writeData() {
    guard failure == nil else { return }
    while !senders.isEmpty, writer.count < Self.writtenAhead {
      let limit = min(Self.largestData, peer.largestFrame, sendWindow)
      guard let (index, count) = nextSender(within: limit) else { return }
      let written = streams[index].write(count, to: &writer)
      sendWindow -= written
      // The server answers DATA with WINDOW_UPDATE.
      flood.credit(written + FloodGuard.frame)
      if streams[index].isWaiting { giveTurn(at: index) }
      if streams[index].isClosed { close(at: index) }
    }
  }

  /// Takes the turn of the next stream that may send something, and says how many bytes.
  private mutating func nextSender(within limit: Int) -> (index: Int, count: Int)? {
    for _ in 0..<senders.count {
      guard let id = senders.popFirst() else { return nil }
      guard let index = streams.index(of: id), streams[index].isBegun else { continue }
      streams[index].hasTurn = false
      if let count = streams[index].nextCount(within: limit) { return (index, count) }
      if streams[index].isWaiting { giveTurn(at: index) }
    }
    return nil
  }

  private mutating func giveTurn(at index: Int) {
    streams[index].hasTurn = true
    senders.append(streams[index].id)
  }

  // MARK: - Input

  /// Removes and returns the next event.
  mutating func nextEvent() -> HTTP2Event? { events.popFirst() }

  /// Whether there may be one.
  var hasEvents: Bool { !events.isEmpty }

  /// Takes bytes that have arrived. Throws an error after which the connection is of no use; it says so to the server,
  /// too, if the output is still sent. Streams that are unfinished then get no event for it.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) throws(HTTP2ConnectionError) {
    if let failure { throw failure }
    do throws(HTTP2ConnectionError) {
      flood.pass(now)
      var input = bytes
      while let frame = try reader.next(&input) { try receive(frame) }
      guard !writer.hasFailed else { throw HTTP2ConnectionError(.internalError, "there is no memory for a frame") }
    } catch {
      fail(error)
      throw error
    }
  }

  /// Ends the connection with an error, which is said to the server if the output is still sent.
  mutating func fail(_ error: HTTP2ConnectionError) {
    guard failure == nil else { return }
    failure = error
    writer.writeGoAway(error.code, text: error.reason)
  }

  /// Records that the server sends nothing more; returns whether that cuts anything off.
  mutating func receiveEnd() -> Bool {
    isGoingAway = true
    return failure == nil && (!peer.haveArrived || !reader.isBetweenFrames || !unfinishedStreams.isEmpty)
  }

  private mutating func receive(_ frame: HTTP2Frame) throws(HTTP2ConnectionError) {
    switch frame {
    case .data(let piece): try receive(piece)
    case .headers(let stream, let block, let isEnd): try receive(try decoder.decode(block), on: stream, isEnd)
    case .reset(let stream, let code): try receive(code, on: stream)
    case .settings(let payload): try receive(settings: payload)
    case .settingsAcknowledgement:
      try flood.charge()
      if awaitsAcknowledgement { decoder.setTableLimit(configuration.headerTableSize) }
      awaitsAcknowledgement = false
    case .ping(let payload):
      try flood.answer(taken: writer.takenCount, written: writer.writtenCount)
      writer.writePing(payload, isAcknowledgement: true)
    case .pong(let payload):
      try flood.charge()
      if pings.end(payload) { events.append(.pong(payload)) }
    case .goAway(let last, let code, let text):
      try flood.charge()
      goAway(last, code, String(decoding: text.prefix(256), as: UTF8.self))
    case .windowUpdate(let stream, let increment): try receive(increment: increment, on: stream)
    case .ignored: try flood.charge()
    }
  }

  private mutating func receive(settings payload: UnsafeRawBufferPointer) throws(HTTP2ConnectionError) {
    try flood.answer(taken: writer.takenCount, written: writer.writtenCount)
    try flood.charge(payload.count * 16)
    let old = peer
    try peer.apply(payload)
    // RFC 7541, section 4.2: the server may have dropped what the least size has no room for.
    if let least = peer.leastHeaderTableSize {
      encoder.setTableLimit(least)
      encoder.setTableLimit(peer.headerTableSize)
    }
    // Section 6.9.2.
    let difference = peer.initialWindow - old.initialWindow
    if difference != 0 {
      for index in streams.indices {
        streams[index].sendWindow += difference
        guard streams[index].sendWindow <= PeerSettings.largestWindow else {
          throw .flowControl("it sets a window by which another becomes too large")
        }
      }
    }
    writer.writeSettingsAcknowledgement()
    if peer.maximumStreams != old.maximumStreams, !takesNoMore {
      events.append(.limit(peer.maximumStreams))
      // Behind the acknowledgement no more streams are begun than this (section 5.1.2).
      while openCount > peer.maximumStreams, let index = lastUnbegun {
        drop(at: index, HTTP2Reset(code: .noError, cause: .limit))
      }
    }
  }

  /// The latest stream, if its head is still to be written: such are behind all others.
  private var lastUnbegun: Int? { streams.lastIndex.flatMap { streams[$0].isBegun ? nil : $0 } }

  /// Ends a stream that the server has not taken.
  private mutating func drop(at index: Int, _ reset: HTTP2Reset) {
    let id = streams[index].id
    remove(at: index)
    events.append(.reset(stream: id, reset))
  }

  /// Section 6.9.
  private mutating func receive(increment: Int, on stream: UInt32) throws(HTTP2ConnectionError) {
    try flood.charge(FloodGuard.frame / 4)
    guard stream != 0 else {
      guard increment > 0 else { throw .protocolError("it gives the connection's window 0 bytes") }
      sendWindow += increment
      guard sendWindow <= PeerSettings.largestWindow else { throw .flowControl("the connection's window is too large") }
      return
    }
    guard let index = streams.index(of: stream), streams[index].isBegun, !streams[index].isClosed else {
      return try checkNotIdle(stream)
    }
    streams[index].sendWindow += increment
    if increment == 0 {
      fail(at: index, .protocolError, .malformed("it gives a stream's window 0 bytes"))
    } else if streams[index].sendWindow > PeerSettings.largestWindow {
      fail(at: index, .flowControlError, .malformed("a stream's window is too large"))
    }
  }

  /// Section 6.8. It may come twice: the first time with the greatest number, as a warning.
  private mutating func goAway(_ last: UInt32, _ code: HTTP2ErrorCode, _ text: String) {
    events.append(.goAway(lastStream: last, code, text: text))
    if !isGoingAway { events.append(.limit(0)) }
    isGoingAway = true
    for index in streams.indices.reversed() {
      let id = streams[index].id
      // Those whose heads are still to be written are the latest.
      guard id > last || !streams[index].isBegun else { break }
      // What it has answered it has taken, whatever it says.
      guard streams[index].response == .head, streams[index].interimResponses == 0 else { continue }
      drop(at: index, HTTP2Reset(code: code, cause: .goAway))
    }
  }

  /// Section 6.4.
  private mutating func receive(_ code: HTTP2ErrorCode, on stream: UInt32) throws(HTTP2ConnectionError) {
    guard let index = streams.index(of: stream), streams[index].isBegun else {
      try checkNotIdle(stream)
      if case .inFlight = streams.receive(0, late: stream) { return }
      return try flood.charge()
    }
    // Section 8.1: a response that is whole counts, whether or not the server wants the rest of the request.
    if streams[index].response == .ended {
      guard !streams[index].isClosed else { return try flood.charge() }
      stopRequest(at: index)
      close(at: index)
      return
    }
    remove(at: index)
    events.append(.reset(stream: stream, HTTP2Reset(code: code, cause: .peer)))
  }

  /// Section 5.1.1: the server opens no streams, and knows those that the client has opened.
  private func checkNotIdle(_ stream: UInt32) throws(HTTP2ConnectionError) {
    guard stream & 1 == 1, stream <= lastBegun else { throw .protocolError("a frame has a stream that was not opened") }
  }

  // MARK: - Responses

  /// The place of the stream that something of a response belongs to; `nil` if it was reset. Counts `count` bytes of it.
  private mutating func index(
    ofResponse stream: UInt32, count: Int = 0
  ) throws(HTTP2ConnectionError) -> Int? {
    if let index = streams.index(of: stream), streams[index].isBegun, streams[index].response != .ended { return index }
    try checkNotIdle(stream)
    // Section 5.1.
    switch streams.index(of: stream) == nil ? streams.receive(count, late: stream) : .behindEnd {
    case .inFlight: break
    case .stray: try flood.charge(count == 0 ? FloodGuard.frame : FloodGuard.strayPiece + count / 64)
    case .excess: throw .flowControl("it sends more on a stream than was allowed")
    case .behindEnd: throw HTTP2ConnectionError(.streamClosed, "it sends something behind the end of a response")
    }
    return nil
  }

  private mutating func receive(
    _ fields: ReceivedFields, on stream: UInt32, _ isEnd: Bool
  ) throws(HTTP2ConnectionError) {
    if fields.isTooLarge { try flood.charge(16 * FloodGuard.frame) }
    guard let index = try index(ofResponse: stream) else { return }
    guard !fields.isTooLarge else {
      return fail(at: index, .cancel, .tooLarge(configuration.limits.head))
    }
    var isInterim = false
    do throws(HTTP2StreamError) {
      if streams[index].response == .head {
        let head = try HTTPResponseHead(fields)
        let limit = configuration.limits.interimResponses
        isInterim = try streams[index].receive(head, isEnd: isEnd, interimLimit: limit)
        events.append(isInterim ? .informational(stream: stream, head) : .head(stream: stream, head))
      } else {
        guard isEnd else { throw .malformed("the stream does not end with its trailers") }
        let trailers = try HTTPHeaders(trailers: fields)
        try streams[index].checkLength()
        if !trailers.isEmpty { events.append(.trailers(stream: stream, trailers)) }
      }
    } catch {
      return fail(at: index, error.code, .malformed(error.reason))
    }
    if isInterim { try flood.charge() } else { flood.credit(16 * FloodGuard.frame) }
    if isEnd { endResponse(at: index) }
  }

  private mutating func receive(_ piece: DataPiece) throws(HTTP2ConnectionError) {
    if piece.isEmptyFrame, !piece.isEnd { try flood.charge() }
    let count = piece.bytes.count + piece.padding
    guard window.receive(count, left: piece.left) else {
      throw .flowControl("it sends more on the connection than was allowed")
    }
    guard let index = try index(ofResponse: piece.stream, count: count) else { return free(count) }
    guard streams[index].window.receive(count, left: piece.left) else {
      free(count)
      return fail(at: index, .flowControlError, .malformed("it is larger than the stream's window allowed"))
    }
    // Counted before anything fails, so that the connection gets it back.
    streams[index].unconsumed += count
    do throws(HTTP2StreamError) {
      try streams[index].receive(piece)
      if !piece.bytes.isEmpty {
        let rest = (streams[index].expectedCount ?? 0) - streams[index].receivedCount
        events.append(piece.bytes, of: piece.stream, expecting: rest, last: &streams[index].lastData)
      }
      if piece.isEnd { try streams[index].checkLength() }
    } catch {
      return fail(at: index, error.code, .malformed(error.reason))
    }
    flood.credit(piece.bytes.count)
    if piece.padding > 0 { consumed(piece.padding, on: piece.stream) }
    if piece.isEnd { endResponse(at: index) }
  }

  // MARK: - The ends of streams

  private mutating func endResponse(at index: Int) {
    streams[index].response = .ended
    events.append(.end(stream: streams[index].id, isClosed: streams[index].isRequestSent))
    guard streams[index].isRequestSent else { return }
    openCount -= 1
    if streams[index].unconsumed == 0 { streams.remove(at: index) }
  }

  /// Closes a stream whose response has ended before.
  private mutating func close(at index: Int) {
    openCount -= 1
    events.append(.closed(stream: streams[index].id))
    if streams[index].unconsumed == 0 { streams.remove(at: index) }
  }

  /// Drops what is left of a request.
  private mutating func stopRequest(at index: Int) {
    streams[index].isRequestWhole = true
    streams[index].isRequestSent = true
  }

  /// Ends a stream for an error of the server's.
  private mutating func fail(at index: Int, _ code: HTTP2ErrorCode, _ cause: HTTP2Reset.Cause) {
    let id = streams[index].id
    if streams[index].response == .ended {
      events.append(.closed(stream: id))
    } else {
      events.append(.reset(stream: id, HTTP2Reset(code: code, cause: cause)))
    }
    end(at: index, code)
  }

  /// Resets a stream unless it is closed, and forgets it.
  private mutating func end(at index: Int, _ code: HTTP2ErrorCode) {
    if streams[index].isBegun, !streams[index].isClosed, failure == nil { writer.writeReset(streams[index].id, code) }
    remove(at: index)
  }

  /// Forgets a stream. What it has not consumed, nobody will.
  private mutating func remove(at index: Int) {
    free(streams[index].unconsumed)
    if streams[index].isClosed { return streams.remove(at: index) }
    openCount -= 1
    streams.reset(at: index)
  }

  /// Gives bytes back to the connection.
  private mutating func free(_ count: Int) {
    if let increment = window.free(count), failure == nil { writer.writeWindowUpdate(0, increment: increment) }
  }
}
