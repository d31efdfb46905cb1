import GraphQLClientSpanRecorder
import HTTPClientCore
import StrictJSON
import Testing
import Tracing

@Suite("A recorder of spans")
struct SpanRecorderTests {
  private func at(_ microseconds: UInt64) -> DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: microseconds * 1_000)
  }

  @Test func `spans are written as Zipkin reads them`() throws {
    let recorder = SpanRecorder(service: "client")
    let outer = recorder.startSpan("outer", context: .topLevel, ofKind: .internal, at: at(1_000))
    let inner = recorder.startSpan("inner", context: outer.context, ofKind: .client, at: at(2_000))
    inner.attributes["http.response.status_code"] = 503
    inner.addEvent(SpanEvent(name: "retry", at: at(2_500), attributes: ["b": 2, "a": "x"]))
    inner.setStatus(SpanStatus(code: .error, message: "No."))
    inner.end(at: at(3_000))
    outer.end(at: at(1_000))
    let (first, second) = (try #require(outer.context.traceContext), try #require(inner.context.traceContext))
    #expect(first.traceID == second.traceID)
    let expected: JSONValue = [
      [
        "traceId": .string(first.traceID), "id": .string(first.spanID), "name": "outer", "timestamp": 1_000,
        "duration": 1, "localEndpoint": ["serviceName": "client"], "tags": [:], "annotations": [],
      ],
      [
        "traceId": .string(first.traceID), "id": .string(second.spanID), "parentId": .string(first.spanID),
        "name": "inner", "kind": "CLIENT", "timestamp": 2_000, "duration": 1_000,
        "localEndpoint": ["serviceName": "client"], "tags": ["http.response.status_code": "503", "error": "No."],
        "annotations": [["timestamp": 2_500, "value": "retry a=x b=2"]],
      ],
    ]
    #expect(SpanRecorder.zipkin([recorder]) == expected)
  }

  @Test func `a span does not change after its end, and is kept once`() {
    let recorder = SpanRecorder(service: "client")
    let span = recorder.startSpan("span", context: .topLevel)
    span.end()
    span.operationName = "other"
    span.attributes["late"] = true
    span.addEvent("late")
    span.end()
    #expect(recorder.spans.map(\.name) == ["span"])
    #expect(recorder.spans[0].attributes.isEmpty && recorder.spans[0].events.isEmpty && !span.isRecording)
  }

  @Test func `spans beyond the limit are dropped, and counted`() {
    let recorder = SpanRecorder(service: "client", limit: 2)
    for _ in 0..<5 { recorder.startSpan("span", context: .topLevel).end() }
    #expect(recorder.spans.count == 2 && recorder.droppedCount == 3)
  }

  @Test func `the type of an error is recorded, and not its text`() {
    struct Failure: Error, CustomStringConvertible {
      var description: String { "a secret" }
    }
    let recorder = SpanRecorder(service: "client")
    let span = recorder.startSpan("span", context: .topLevel)
    span.recordError(Failure())
    span.end()
    #expect(recorder.spans[0].events.map(\.name) == ["exception"])
    #expect(recorder.spans[0].events[0].attributes.get("exception.type") == .string("Failure"))
    #expect(!"\(SpanRecorder.zipkin([recorder]))".contains("secret"))
  }
}
