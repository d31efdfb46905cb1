import HTTPClientCore
public import StrictJSON
import Tracing

extension SpanRecorder {
  /// The spans of some recorders as a list of Zipkin's format v2, the earliest first: the body of a `POST` to
  /// `/api/v2/spans` of Zipkin, of Jaeger's collector (port 9411), or of an OpenTelemetry collector with a Zipkin receiver.
  /// Times are in microseconds, rounded down, and no duration is less than one.
  public static func zipkin(_ recorders: [SpanRecorder]) -> JSONValue {
    .array(recorders.flatMap(\.spans).sorted { $0.start < $1.start }.map(\.zipkin))
  }
}

extension RecordedSpan {
  fileprivate var zipkin: JSONValue {
    var tags: [String: JSONValue] = [:]
    attributes.forEach { name, value in tags[name] = .string(value.text) }
    if case .error = status?.code { tags["error"] = .string(status?.message ?? self["error.type"] ?? "true") }
    var members: [String: JSONValue] = [
      "traceId": .string(trace.traceID), "id": .string(trace.spanID), "name": .string(name),
      "timestamp": .microseconds(start), "duration": .integer(max(1, Int64(clamping: (end &- start) / 1_000))),
      "localEndpoint": ["serviceName": .string(service)], "tags": .object(tags),
      "annotations": .array(
        events.map { ["timestamp": .microseconds($0.nanosecondsSinceEpoch), "value": .string($0.text)] }),
    ]
    members["parentId"] = parentID.map { .string($0) }
    members["kind"] = kind.zipkin.map { .string($0) }
    return .object(members)
  }
}

extension JSONValue {
  fileprivate static func microseconds(_ nanoseconds: UInt64) -> JSONValue {
    .integer(Int64(clamping: nanoseconds / 1_000))
  }
}

extension SpanEvent {
  /// The name with the attributes, for which Zipkin's annotations have no place.
  fileprivate var text: String {
    var texts: [String] = []
    attributes.forEach { name, value in texts.append("\(name)=\(value.text)") }
    return ([name] + texts.sorted()).joined(separator: " ")
  }
}

extension SpanKind {
  fileprivate var zipkin: String? {
    switch self {
    case .client: "CLIENT"
    case .server: "SERVER"
    case .producer: "PRODUCER"
    case .consumer: "CONSUMER"
    case .internal: nil
    }
  }
}
