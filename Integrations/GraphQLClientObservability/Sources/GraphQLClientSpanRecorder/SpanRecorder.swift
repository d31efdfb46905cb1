public import HTTPClientCore
import Synchronization
public import Tracing

/// A tracer that keeps the spans that have ended in memory, for tests, and to see a trace without a collector: what it
/// kept can be written as a file that Zipkin and Jaeger read, see ``zipkin(_:)``.
///
/// Its contexts travel between processes as W3C Trace Context has it, in `traceparent`. It samples everything.
public final class SpanRecorder: Tracer {
  /// The name of the service whose spans these are.
  public let service: String

  private struct State {
    var spans: [RecordedSpan] = []
    var dropped = 0
  }

  private let limit: Int
  private let state = Mutex(State())

  /// Makes a recorder that keeps so many spans; later ones are dropped.
  public init(service: String, limit: Int = 10_000) {
    self.service = service
    self.limit = limit
  }

  /// The spans that have ended, in the order in which they did.
  public var spans: [RecordedSpan] { state.withLock { $0.spans } }

  /// How many spans had no room.
  public var droppedCount: Int { state.withLock { $0.dropped } }

  /// Begins a span, below that of the context if it has one.
  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> RecordingSpan {
    var context = context()
    let parent = context.traceContext
    let own = parent?.child() ?? TraceContext()
    context.traceContext = own
    let start = RecordedSpan(
      service: service, name: operationName, kind: kind, trace: own, parentID: parent?.spanID,
      start: instant().nanosecondsSinceEpoch)
    return RecordingSpan(start, context) { [weak self] in self?.keep($0) }
  }

  private func keep(_ span: RecordedSpan) {
    state.withLock { state in
      if state.spans.count < limit { state.spans.append(span) } else { state.dropped += 1 }
    }
  }

  /// Puts the context's `traceparent` into a carrier.
  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let trace = context.traceContext else { return }
    injector.inject("\(trace)", forKey: TraceContext.fieldName, into: &carrier)
  }

  /// Takes the `traceparent` of a carrier into a context, if it is valid.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let value = extractor.extract(key: TraceContext.fieldName, from: carrier), let trace = TraceContext(value)
    else { return }
    context.traceContext = trace
  }

  /// Does nothing: spans are kept as they end.
  public func forceFlush() {}
}

extension ServiceContext {
  private enum Key: ServiceContextKey {
    typealias Value = TraceContext
    static var nameOverride: String? { "traceparent" }
  }

  /// The span that a ``SpanRecorder`` has begun, or has been sent.
  public var traceContext: TraceContext? {
    get { self[Key.self] }
    set { self[Key.self] = newValue }
  }
}
