import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

/// The test kit's scripted subscriptions.
@Suite struct ScriptedLiveTests {
  @Test func `a script plays the events of a subscription in virtual time, and records it`() throws {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler)
    transport.expectLive(
      .operation("countdown", variables: ["start": 2, "delayMs": 0]),
      [
        .connected, .json(#"{"data": {"countdown": 2}}"#), .wait(.seconds(5)), .disconnected(), .reconnected,
        .json(#"{"data": {"countdown": 1}}"#), .completed,
      ])
    var client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport)
    client.graphQL.live = transport
    let seen = Seen(Countdown(2).subscribe(on: client).map { event in event.map { $0.data.countdown } })
    #expect(seen.elements == [.connected, .value(2)])
    scheduler.advance(by: .seconds(5))
    #expect(seen.elements.suffix(2) == [.reconnected, .value(1)])
    #expect(seen.state.value.isCompleted)
    #expect(transport.subscriptions.count == 1)
    #expect(transport.failures.isEmpty)
    #expect(transport.liveCancellations == 0)
  }

  @Test func `a subscription that is not in the script fails, and one that stays is cancelled by its observer`() throws
  {
    let transport = ScriptedTransport()
    var client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport)
    client.graphQL.live = transport
    #expect(Seen(Countdown(1).data(on: client)).state.value.error?.kind == .invalidRequest)
    #expect(transport.failures.count == 1)
    transport.alwaysLive(.any, [.connected])
    let seen = Seen(Countdown(1).subscribe(on: client))
    #expect(seen.elements == [.connected])
    #expect(!seen.state.value.isEnded)
    seen.dispose()
    #expect(transport.liveCancellations == 1)
  }

  @Test func `by the policy all, a result without data does not end the subscription; by none, any error does`() throws
  {
    let transport = ScriptedTransport()
    var client = try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: transport)
    client.graphQL.live = transport
    let partial = #"{"data": null, "errors": [{"message": "no"}]}"#
    transport.alwaysLive(.any, [.json(partial), .json(#"{"data": {"countdown": 1}}"#), .json("{}"), .completed])
    var countdown = Countdown(1)
    #expect(Seen(countdown.subscribe(on: client)).state.value.error?.kind == .graphQL)
    countdown.errorPolicy = .all
    let seen = Seen(countdown.subscribe(on: client))
    #expect(seen.elements.map { $0.value?.data.countdown } == [nil, 1])
    guard case .failed(let error) = seen.elements.first else {
      Issue.record("\(seen.elements)")
      return
    }
    #expect(error.graphQLErrors.first?.message == "no")
    #expect(error.operationName == "countdown")
    #expect(seen.state.value.error?.kind == .undecodable)
    #expect(seen.state.value.error?.operationName == "countdown")
  }
}
