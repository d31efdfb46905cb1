import Foundation
import HTTPTestSupport
import LoopbackServers
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Servers that send frames of one kind without end: most cost more by their number than by their bytes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WebSocketFloodTests {
  enum Flood: CaseIterable {
    case emptyTexts, tinyMessages, pings, emptyPings, pongs, emptyFragments, pingsAmongFragments, emptyBlocks,
      afterClose

    /// What comes first.
    var beginning: [UInt8] {
      switch self {
      case .emptyFragments, .pingsAmongFragments: ServerFrame.text("a", isFinal: false)
      case .emptyBlocks: ServerFrame.bytes(1, isFinal: false, reserved: 4)
      case .afterClose: ServerFrame.close(1000)
      default: []
      }
    }

    /// What comes again and again.
    var rest: [UInt8] {
      switch self {
      case .emptyTexts: ServerFrame.text("")
      case .tinyMessages, .afterClose: ServerFrame.binary([7])
      case .pings: ServerFrame.ping(String(repeating: "p", count: 125))
      case .emptyPings: ServerFrame.ping()
      case .pongs: ServerFrame.pong(String(repeating: "p", count: 125))
      case .emptyFragments: ServerFrame.continuation([], isFinal: false)
      case .pingsAmongFragments: ServerFrame.ping("p") + ServerFrame.continuation([], isFinal: false)
      // An empty stored block (RFC 1951, section 3.2.4).
      case .emptyBlocks: ServerFrame.continuation([0x00, 0x00, 0x00, 0xFF, 0xFF], isFinal: false)
      }
    }
  }

  /// The processor is the machine's, which may be busy for a while with something else: then some requests are late. If the
  /// flood delayed them, most would be, whenever one looks.
  @Test(arguments: Flood.allCases, [false, true])
  func `W2, T6: a flood of frames delays no other exchange, takes no memory, and ends with the subscription`(
    flood: Flood, blocks: Bool
  ) async throws {
    let isOver = Latch()
    let (beginning, block) = (flood.beginning, Array(repeatElement(flood.rest, count: 2_000).joined()))
    let server = try WebSocketPeerServer { peer in
      defer { isOver.open() }
      try peer.accept(["Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover"])
      try peer.send(beginning)
      while true { try peer.send(block) }
    }
    let transport = SocketTransport()
    let silent = try ScriptedServer([.forever([.readRequest, .waitForClientToClose])])
    let answering = try ScriptedServer(.answering { RawResponse(body: $0.body) })
    let (isFree, isStuck) = (DispatchSemaphore(value: 0), Latch())
    let before = try #require(ProcessUsage.current).memory
    let subscription = transport.connect(try server.request { $0.compression = .acrossMessages }).subscribe(
      onNext: { event in
        guard case .opened = event else { return }
        isStuck.open()
        if blocks { isFree.wait() }
      }, onError: { _ in })
    try await isStuck.wait()
    let clock = ContinuousClock()
    var (late, answers): ([Duration], [Duration]) = ([], [])
    let count = TestScale.count(5, long: 50)
    func isMostlyInTime(_ delays: [Duration]) -> Bool { delays.sorted()[delays.count / 2] < .milliseconds(250) }
    repeat {
      var start = clock.now
      let unanswered = try HTTPRequest.to(silent, timeouts: HTTPTimeouts(total: .milliseconds(100)))
      #expect(await transport.send(unanswered).collect(upTo: 1).failure?.kind == .timedOut)
      late.append(clock.now - start - .milliseconds(100))
      start = clock.now
      _ = try await transport.response(to: .to(answering))
      answers.append(clock.now - start)
    } while late.count < count || late.count < 5 * count && !(isMostlyInTime(late) && isMostlyInTime(answers))
    #expect(isMostlyInTime(late), "\(late)")
    #expect(isMostlyInTime(answers), "\(answers)")
    #expect(try #require(ProcessUsage.current).memory - before < 48 << 20, "bytes")
    subscription.dispose()
    let stopwatch = Stopwatch()
    try await isOver.wait()
    #expect(stopwatch.elapsed < .seconds(3))
    isFree.signal()
    await transport.shutdown()
  }
}
