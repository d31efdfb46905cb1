import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import Streams
import StreamsTesting
import TestSupport
import Testing

/// What is made of the responses that servers send, by the standards and besides.
@Suite struct StreamReadingTests {
  typealias Format = StreamLiveTests.Format
  typealias Harness = StreamLiveTests.Harness

  /// What a subscription sees of a body, whose server then ends the next response at once.
  private func read(_ format: Format, _ body: String, pieces size: Int? = nil) throws -> (Seen<LiveEvent<Int>>, Harness)
  {
    let harness = try Harness(format)
    var response = ScriptedResponse.response(headers: format.contentType, body: Data(body.utf8))
    if let size { response = response.inPieces(of: size) }
    harness.transport.expect(.any, response)
    harness.transport.always(.any, format.response([]))
    return (harness.run(), harness)
  }

  private func part(_ json: String) -> String {
    "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\(json)"
  }

  private static let result = #"{"data":{"countdown":3}}"#
  private static let refusal = #"{"errors":[{"message":"No."}]}"#

  @Test func `L2: an event stream that is cut inside an event is resumed after the event before, and nothing is lost`()
    throws
  {
    let events = (1...2).map { "id: \($0)\nevent: next\ndata: {\"data\":{\"countdown\":\($0)}}\n\n" }
    let start = events[0].utf8.count
    for length in start..<events.joined().utf8.count {
      let harness = try Harness(.eventStream)
      let headers = Format.eventStream.contentType
      harness.transport.expect(.any, .response(headers: headers, body: Data(events.joined().utf8.prefix(length))))
      // A server with a history.
      harness.transport.always(.any, .response(headers: headers, body: Data((events[1] + "event: complete\n\n").utf8)))
      let seen = harness.run()
      #expect(harness.transport.requests.last?.headers["Last-Event-ID"] == "1", "cut at \(length)")
      #expect(seen.elements.compactMap(\.value) == [1, 2])
      #expect(seen.state.value.isCompleted)
    }
  }

  @Test func `L2: a connection that names the last event is a gap, unless the settings say that the server replays`()
    throws
  {
    for serverReplays in [false, true] {
      var settings = LiveSettings()
      settings.serverReplays = serverReplays
      let harness = try Harness(.eventStream, settings: settings)
      let first = "id: 17\nevent: next\ndata: \(Self.result)\n\n"
      harness.transport.expect(.any, .response(headers: Format.eventStream.contentType, body: Data(first.utf8)))
      harness.transport.always(.any, Format.eventStream.response([2]))
      let seen = harness.run()
      #expect(harness.transport.requests.last?.headers["Last-Event-ID"] == "17")
      let again: LiveEvent<Int> = serverReplays ? .resumed : .reconnected
      #expect(seen.elements.suffix(2) == [again, .value(2)])
      #expect(again.isGap == !serverReplays)
    }
  }

  @Test(
    arguments: [
      // As servers sent them before graphql-sse.
      ("data: \(result)\n\n", [3], nil), ("event: message\ndata: \(result)\n\n", [3], nil),
      ("event: update\ndata: \(result)\n\n", [3], nil), ("data: \(refusal)\n\n", [], RequestError.Kind.graphQL),
      ("event: error\ndata: \(refusal)\n\n", [], .graphQL),
      ("event: error\ndata: [{\"message\":\"No.\"}]\n\n", [], .graphQL),
      ("event: error\ndata: {\"message\":\"No.\"}\n\n", [], .graphQL),
      ("event: next\ndata: \(refusal)\n\n", [], .graphQL),
      // What nobody understands.
      ("event: update\ndata: {\"a\":1}\n\n", [], .badResponse), ("data: hello\n\n", [], .badResponse),
      ("data: [1]\n\n", [], .badResponse),
      // Signs of life, and events that the standard drops.
      (
        "data: {}\n\nevent: ping\ndata: 1\n\nevent: heartbeat\n\ndata:\n\nevent: next\n\nevent: next\ndata: \(result)\n\n",
        [3], nil
      ),
    ] as [(String, [Int], RequestError.Kind?)])
  func `L2: what an event stream brings is a result, an error or a sign of life, and never lost`(
    row: (body: String, values: [Int], error: RequestError.Kind?)
  ) throws {
    let (seen, harness) = try read(.eventStream, row.body + "event: complete\n\n")
    #expect(seen.elements == [.connected] + row.values.map { .value($0) })
    #expect(seen.state.value.error?.kind == row.error)
    #expect(seen.state.value.isCompleted == (row.error == nil))
    #expect(harness.transport.requests.count == 1)
    if row.error == .graphQL { #expect(seen.state.value.error?.graphQLErrors.first?.message == "No.") }
  }

  @Test(
    arguments: [
      // As servers sent them before `payload`.
      ([result, #"{"data":{"countdown":2},"hasNext":true}"#, #"{"hasNext":false}"#], [3, 2], nil),
      ([#"{"data":{"countdown":3},"hasNext":false}"#], [3], nil),
      (["{}", #"{"hasNext":true}"#, #"{"payload":{"data":{"countdown":3}}}"#, "\r\n--graphql--"], [3], nil),
      ([refusal], [], RequestError.Kind.graphQL),
      ([#"{"data":null,"errors":[{"message":"No."}],"hasNext":true}"#], [], .graphQL),
      ([#"{"payload":{"data":{"countdown":3}},"errors":[{"message":"No."}]}"#], [3], .graphQL),
      ([#"{"result":{"countdown":3}}"#], [], .badResponse), (["[1]"], [], .badResponse),
      ([#"{"payload":{"data":{"countdown":3}}}"#, "{]}"], [3], .badResponse),
    ] as [([String], [Int], RequestError.Kind?)])
  func `L2: what a multipart response brings is a result, an error or a heartbeat, and never lost`(
    row: (parts: [String], values: [Int], error: RequestError.Kind?)
  ) throws {
    let body = row.parts.map { $0.hasPrefix("\r") ? $0 : part($0) }.joined()
    // A part that no brace ends is whole with its delimiter.
    let (seen, harness) = try read(.multipart, body + (row.error == nil ? "" : "\r\n--graphql\r\n"))
    #expect(seen.elements == [.connected] + row.values.map { .value($0) })
    #expect(seen.state.value.error?.kind == row.error)
    #expect(seen.state.value.isCompleted == (row.error == nil))
    #expect(harness.transport.requests.count == 1)
  }

  @Test(
    arguments: Format.allCases,
    [1, 5, 40, 10_000])
  func `L2: values before what cannot be read are delivered, however the bytes are split`(format: Format, size: Int)
    throws
  {
    let bad = format == .eventStream ? "data: no result\n\n" : part("{\"payload\":1]}") + "\r\n--graphql\r\n"
    let (seen, _) = try read(format, format.body([5, 4], isComplete: false) + bad, pieces: size)
    #expect(seen.elements == [.connected, .value(5), .value(4)])
    #expect(seen.state.value.error?.kind == .badResponse)
  }
}
