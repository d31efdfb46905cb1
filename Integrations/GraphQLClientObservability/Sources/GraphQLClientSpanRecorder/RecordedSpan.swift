public import HTTPClientCore
import Synchronization
public import Tracing

/// A span that has ended.
public struct RecordedSpan: Sendable {
  /// The name of the service whose span it is.
  public internal(set) var service: String
  /// What was done.
  public internal(set) var name: String
  /// Which side of a call it is, if any.
  public internal(set) var kind: SpanKind
  /// The trace and the span in it.
  public internal(set) var trace: TraceContext
  /// The span above it, maybe of another process.
  public internal(set) var parentID: String?
  /// When it began, in nanoseconds since 1970.
  public internal(set) var start: UInt64
  /// When it ended.
  public internal(set) var end: UInt64 = 0
  /// What is known of it.
  public internal(set) var attributes: SpanAttributes = [:]
  /// What happened meanwhile, in the order in which it was reported.
  public internal(set) var events: [SpanEvent] = []
  /// Whether it failed, and why.
  public internal(set) var status: SpanStatus?

  /// The text of an attribute, whatever its type.
  public subscript(attribute: String) -> String? { attributes.get(attribute)?.text }
}

/// A span that a ``SpanRecorder`` has begun.
public final class RecordingSpan: Span {
  /// The context of what is done within the span.
  public let context: ServiceContext

  private struct State {
    var span: RecordedSpan
    var isOver = false
  }

  private let state: Mutex<State>
  private let keep: @Sendable (RecordedSpan) -> Void

  init(_ span: RecordedSpan, _ context: ServiceContext, keep: @escaping @Sendable (RecordedSpan) -> Void) {
    self.context = context
    state = Mutex(State(span: span))
    self.keep = keep
  }

  private func change(_ body: (inout RecordedSpan) -> Void) {
    state.withLock { state in
      if !state.isOver { body(&state.span) }
    }
  }

  /// Whether it has not ended.
  public var isRecording: Bool { state.withLock { !$0.isOver } }

  /// The name.
  public var operationName: String {
    get { state.withLock { $0.span.name } }
    set { change { $0.name = newValue } }
  }

  /// The attributes.
  public var attributes: SpanAttributes {
    get { state.withLock { $0.span.attributes } }
    set { change { $0.attributes = newValue } }
  }

  /// Sets whether it failed.
  public func setStatus(_ status: SpanStatus) { change { $0.status = status } }

  /// Adds an event.
  public func addEvent(_ event: SpanEvent) { change { $0.events.append(event) } }

  /// Adds an event of the name `exception`, with the type of the error: its text may hold secrets.
  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    var attributes = attributes
    attributes["exception.type"] = "\(type(of: error))"
    addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
  }

  /// Does nothing: Zipkin's format has no links.
  public func addLink(_ link: SpanLink) {}

  /// Ends it; nothing changes it after that.
  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    let end = instant().nanosecondsSinceEpoch
    let span = state.withLock { state -> RecordedSpan? in
      guard !state.isOver else { return nil }
      state.isOver = true
      state.span.end = end
      return state.span
    }
    if let span { keep(span) }
  }
}

extension SpanAttribute {
  /// The value as text.
  var text: String {
    switch self {
    case .int32(let value): "\(value)"
    case .int64(let value): "\(value)"
    case .double(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .string(let value): value
    case .int32Array(let values): "\(values)"
    case .int64Array(let values): "\(values)"
    case .doubleArray(let values): "\(values)"
    case .boolArray(let values): "\(values)"
    case .stringArray(let values): "\(values)"
    case .stringConvertible(let value): "\(value)"
    case .stringConvertibleArray(let values): "\(values)"
    default: ""
    }
  }
}
