import Foundation
import HTTPClientCore
import TestSupport
import Testing

@testable import SocketHTTP

/// A client and a server in memory, with 200 exchanges of random sizes whose bytes are cut anywhere.
@Suite struct HTTP2ModelTests {
  @Test(arguments: 1...5)
  func `all bodies arrive exactly, no window is exceeded, and memory is limited`(seed: UInt64) throws {
    var world = World(seed: seed)
    var steps = 0
    while !world.isOver {
      steps += 1
      try #require(steps < 200_000, "It does not come to an end.")
      try world.step()
    }
    #expect(world.server.wrong.isEmpty)
    #expect(world.client.failure == nil)
    #expect(world.outcomes.count == World.exchangeCount)
    #expect(world.outcomes.values.filter { $0 == .complete }.count > World.exchangeCount / 2)
    #expect(Set(world.outcomes.values).isDisjoint(with: [.wrong]))
    #expect(world.client.machine.openCount == 0)
    #expect(world.mostUnread <= world.connectionWindow)
  }
}

/// What the server does with a request.
private struct Plan {
  var requestBody: [UInt8]
  var responseBody: [UInt8]
  var hasTrailers: Bool
  var declaresLength: Bool
  /// After how many bytes of the response the server resets the stream, or the client cancels it.
  var serverReset: Int?
  var clientCancel: Int?
  /// Whether the server responds without waiting for the request's body.
  var isEarly: Bool
}

private struct World {
  enum Outcome { case complete, reset, cancelled, wrong }

  static let exchangeCount = TestScale.count(100, long: 200)

  let connectionWindow: Int
  private var random: RandomNumbers
  let client: HTTP2Driver
  var server: Server
  private var plans: [UInt32: Plan] = [:]
  private(set) var outcomes: [UInt32: Outcome] = [:]
  private var opened = 0
  private var unsent: [UInt32: [UInt8]] = [:]
  private var read: [UInt32: [UInt8]] = [:]
  private var unread: [(stream: UInt32, count: Int)] = []
  private(set) var mostUnread = 0
  /// Bytes on their way.
  private var toServer: [UInt8] = []
  private var toClient: [UInt8] = []

  init(seed: UInt64) {
    random = RandomNumbers(seed: seed)
    connectionWindow = 65_535 + random.next(below: 100_000)
    let streamWindow = 100 + random.next(below: 40_000)
    client = HTTP2Driver(
      HTTP2Configuration(connectionWindow: connectionWindow, streamWindow: streamWindow), settings: nil)
    server = Server(connectionWindow: 65_535, streamWindow: 1 + random.next(below: 60_000), random)
    toClient += server.takeOutput()
  }

  var isOver: Bool { outcomes.count == Self.exchangeCount && unread.isEmpty && toServer.isEmpty && toClient.isEmpty }

  mutating func step() throws {
    switch random.next(below: 8) {
    case 0: open()
    case 1: sendBodies()
    case 2, 3:
      toServer += client.takeBytes(upTo: 1 + random.next(below: 40_000))
      let count = min(toServer.count, 1 + random.next(below: 30_000))
      try server.receive(Array(toServer[..<count]), plans)
      toServer.removeFirst(count)
    case 4, 5:
      server.work(plans)
      toClient += server.takeOutput()
      let count = min(toClient.count, 1 + random.next(below: 30_000))
      for event in client.receive(Array(toClient[..<count]), pieces: 1 + random.next(below: 5000)) { handle(event) }
      toClient.removeFirst(count)
    case 6: consume()
    default: for event in client.events() { handle(event) }
    }
    mostUnread = max(mostUnread, unread.reduce(0) { $0 + $1.count })
  }

  private mutating func open() {
    guard opened < Self.exchangeCount, client.machine.room > 0 else { return }
    opened += 1
    let sizes = [0, 1, 300, 16_384, 16_385, 50_000]
    let body = random.next(below: 3) == 0 ? random.pattern(sizes[random.next(below: 6)]) : []
    let response = random.pattern(random.next(below: 2) == 0 ? random.next(below: 400) : random.next(below: 60_000))
    let isReset = random.next(below: 10) == 0
    let isCancelled = !isReset && random.next(below: 10) == 0
    let plan = Plan(
      requestBody: body, responseBody: response, hasTrailers: random.next(below: 4) == 0,
      declaresLength: random.next(below: 2) == 0, serverReset: isReset ? random.next(below: response.count + 1) : nil,
      clientCancel: isCancelled ? random.next(below: response.count + 1) : nil, isEarly: random.next(below: 5) == 0)
    let stream = client.open("POST", isEnd: body.isEmpty, ["x-stream": "a"])
    plans[stream] = plan
    if !body.isEmpty { unsent[stream] = body }
  }

  private mutating func sendBodies() {
    for (stream, body) in unsent {
      guard let progress = client.machine.progress(of: stream) else {
        unsent[stream] = nil
        continue
      }
      guard progress.queued < 1000 else { continue }
      let count = min(body.count, 1 + random.next(below: 20_000))
      client.machine.send(Data(body[..<count]), on: stream, isEnd: count == body.count)
      unsent[stream] = count == body.count ? nil : Array(body[count...])
    }
  }

  private mutating func consume() {
    guard !unread.isEmpty else { return }
    let index = random.next(below: unread.count)
    let (stream, count) = unread[index]
    let part = random.next(below: 3) == 0 ? min(count, 1 + random.next(below: 500)) : count
    client.machine.consumed(part, on: stream)
    if part == count { unread.remove(at: index) } else { unread[index].count -= part }
  }

  private mutating func handle(_ event: HTTP2Event) {
    // One that was taken along with the one upon which its stream was cancelled.
    if let stream = event.stream, outcomes[stream] == .cancelled { return }
    switch event {
    case .data(let stream, let data):
      read[stream, default: []] += data
      unread.append((stream, data.count))
      if let limit = plans[stream]?.clientCancel, read[stream, default: []].count >= limit {
        end(stream, .cancelled)
        client.machine.cancel(stream)
        unread.removeAll { $0.stream == stream }
      }
    case .head(let stream, let head):
      if head.status != 200 { end(stream, .wrong) }
    case .end(let stream, _):
      let isExact = read[stream, default: []] == plans[stream]?.responseBody
      end(stream, isExact && plans[stream]?.serverReset == nil ? .complete : .wrong)
    case .reset(let stream, let reset):
      end(stream, reset.cause == .peer && plans[stream]?.serverReset != nil ? .reset : .wrong)
      unread.removeAll { $0.stream == stream }
    case .goAway: outcomes[0] = .wrong
    case .closed, .informational, .limit, .pong, .trailers: break
    }
  }

  private mutating func end(_ stream: UInt32, _ outcome: Outcome) {
    outcomes[stream] = outcomes[stream] == nil ? outcome : .wrong
    read[stream] = nil
  }
}

/// A server that follows its plans, and checks that the client keeps to its windows.
private struct Server {
  private struct Stream {
    var received: [UInt8] = []
    var isRequestWhole = false
    var window: Int
    var sendWindow: Int
    var sent = 0
    var hasHead = false
  }

  /// What the client did wrong.
  private(set) var wrong: [String] = []
  private var random: RandomNumbers
  private var streams: [UInt32: Stream] = [:]
  private var output: [UInt8] = []
  private var input: [UInt8] = []
  private var hasPreface = false
  private var window: Int
  private var streamWindow: Int
  private var sendWindow = 65_535
  private var clientStreamWindow = 65_535
  private var decoder = HPACKDecoder()

  init(connectionWindow: Int, streamWindow: Int, _ random: RandomNumbers) {
    self.random = random
    window = connectionWindow
    self.streamWindow = streamWindow
    output = HTTP2ServerFrame.settings([(3, 20), (4, UInt32(streamWindow))])
  }

  mutating func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  mutating func receive(_ bytes: [UInt8], _ plans: [UInt32: Plan]) throws {
    input += bytes
    if !hasPreface {
      guard input.count >= HTTP2Driver.preface.count else { return }
      if !input.starts(with: HTTP2Driver.preface) { wrong.append("no preface") }
      input.removeFirst(HTTP2Driver.preface.count)
      hasPreface = true
    }
    for frame in HTTP2ClientFrame.take(from: &input) { try receive(frame, plans) }
  }

  private mutating func receive(_ frame: HTTP2ClientFrame, _ plans: [UInt32: Plan]) throws {
    switch frame.type {
    case 0:
      window -= frame.payload.count
      if window < 0 { wrong.append("the connection's window is exceeded") }
      if frame.payload.count > 16_384 { wrong.append("a frame is too large") }
      if streams[frame.stream] != nil {
        streams[frame.stream]?.window -= frame.payload.count
        streams[frame.stream]?.received += frame.payload
        if streams[frame.stream]?.window ?? 0 < 0 { wrong.append("the window of \(frame.stream) is exceeded") }
        if frame.flags & 1 != 0 { finish(frame.stream, plans) }
      }
      giveBack(frame)
    case 1:
      let fields = try decoder.decode(frame.payload).fields.map(\.texts)
      if fields.first != [":method", "POST"] { wrong.append("a head is wrong") }
      if streams.count >= 20 { wrong.append("too many streams are open") }
      streams[frame.stream] = Stream(window: streamWindow, sendWindow: clientStreamWindow)
      if frame.flags & 1 != 0 { finish(frame.stream, plans) }
    case 3: streams[frame.stream] = nil
    case 4 where frame.flags & 1 == 0:
      clientStreamWindow = Int(frame.payload[8]) << 24 | Int(frame.payload[9]) << 16 | Int(frame.payload[10]) << 8
      clientStreamWindow |= Int(frame.payload[11])
      output += HTTP2ServerFrame.acknowledgement
    case 8:
      if frame.stream == 0 { sendWindow += Int(frame.number) }
      streams[frame.stream]?.sendWindow += Int(frame.number)
    case 6: output += HTTP2ServerFrame.frame(6, 1, 0, frame.payload)
    case 7: wrong.append("the client gives up: \(String(decoding: frame.payload.dropFirst(8), as: UTF8.self))")
    default: break
    }
  }

  private mutating func giveBack(_ frame: HTTP2ClientFrame) {
    let count = frame.payload.count
    guard count > 0 else { return }
    window += count
    output += HTTP2ServerFrame.windowUpdate(0, UInt32(count))
    if let stream = streams[frame.stream], !stream.isRequestWhole {
      let extra = random.next(below: 100)
      streams[frame.stream]?.window += count + extra
      output += HTTP2ServerFrame.windowUpdate(frame.stream, UInt32(count + extra))
    }
  }

  private mutating func finish(_ id: UInt32, _ plans: [UInt32: Plan]) {
    streams[id]?.isRequestWhole = true
    if streams[id]?.received != plans[id]?.requestBody { wrong.append("the body of \(id) is wrong") }
  }

  /// Sends a piece of some response.
  mutating func work(_ plans: [UInt32: Plan]) {
    if random.next(below: 20) == 0 { output += HTTP2ServerFrame.ping(1) }
    if random.next(below: 20) == 0 { output += HTTP2ServerFrame.frame(0xFA, 0, 0, [1, 2]) }
    for id in streams.keys.sorted() where random.next(below: 2) == 0 {
      guard var stream = streams[id], let plan = plans[id], stream.isRequestWhole || plan.isEarly else { continue }
      if !stream.hasHead {
        let length = [("content-length", "\(plan.responseBody.count)")]
        if random.next(below: 5) == 0 { output += HTTP2ServerFrame.head(id, 103) }
        output += HTTP2ServerFrame.head(id, 200, plan.declaresLength ? length : [])
        stream.hasHead = true
      }
      let limit = plan.serverReset ?? plan.responseBody.count
      let padding = random.next(below: 4) == 0 ? random.next(below: 50) : nil
      let overhead = padding.map { $0 + 1 } ?? 0
      let room = min(sendWindow, stream.sendWindow) - overhead
      let count = min(max(room, 0), limit - stream.sent, 1 + random.next(below: 16_000))
      if room >= 0, count > 0 {
        let piece = Array(plan.responseBody[stream.sent..<stream.sent + count])
        stream.sent += count
        sendWindow -= count + overhead
        stream.sendWindow -= count + overhead
        if let padding {
          output += HTTP2ServerFrame.frame(0, 8, id, [UInt8(padding)] + piece + .zeros(padding))
        } else {
          output += HTTP2ServerFrame.data(id, piece)
        }
      }
      streams[id] = stream
      if stream.sent == limit {
        if plan.serverReset != nil {
          output += HTTP2ServerFrame.reset(id, 8)
          streams[id] = nil
        } else if stream.isRequestWhole {
          output +=
            plan.hasTrailers
            ? HTTP2ServerFrame.headers(id, [("t", "u")], isEnd: true) : HTTP2ServerFrame.data(id, "", isEnd: true)
          streams[id] = nil
        }
      }
    }
  }
}

extension RandomNumbers {
  fileprivate mutating func pattern(_ count: Int) -> [UInt8] {
    let start = UInt8(next(below: 256))
    return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ start }
  }
}
