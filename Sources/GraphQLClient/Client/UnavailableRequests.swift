public import Streams

// Names that people know from elsewhere, where the compiler's own message would not say what to write. None of these is
// chosen where something else fits: what is unavailable comes last.

extension APISession {
  /// Not for sessions.
  @available(
    *, unavailable,
    message: "a session is no stream: subscribe to session.data(on: client), or to a verb, such as get(on: client)"
  )
  public func subscribe(
    onNext: ((ResponseType) -> Void)? = nil, onError: ((any Error) -> Void)? = nil, onCompleted: (() -> Void)? = nil
  ) -> any Disposable { Disposables.create() }

  /// Not for sessions.
  @available(
    *, unavailable,
    message:
      "a session is no stream: write try await session.data(on: client).value, or a verb, such as get(on: client)"
  )
  public var value: ResponseType { get async throws { throw CancellationError() } }
}

extension APIClient {
  /// Apollo's `fetch`.
  @available(*, unavailable, message: "write query.data(on: client), which is a stream")
  public func fetch<Session: GraphQLSession>(query: Session) -> Observable<Session.ResponseData> {
    query.data(on: self)
  }

  /// Apollo's `fetch`.
  @available(*, unavailable, message: "write query.data(on: client).subscribe(onNext:onError:)")
  public func fetch<Session: GraphQLSession>(query: Session, resultHandler: (Session.ResponseType) -> Void) {}

  /// Apollo's `perform`.
  @available(*, unavailable, message: "write mutation.data(on: client), which is a stream")
  public func perform<Session: GraphQLSession>(mutation: Session) -> Observable<Session.ResponseData> {
    mutation.data(on: self)
  }

  /// Apollo's `perform`.
  @available(*, unavailable, message: "write mutation.data(on: client).subscribe(onNext:onError:)")
  public func perform<Session: GraphQLSession>(mutation: Session, resultHandler: (Session.ResponseType) -> Void) {}
}

extension GraphQLDocument {
  /// Not for texts that are made when the program runs.
  @available(
    *, unavailable, message: "a document is a literal, so that no input gets into it: pass values as variables"
  )
  public init(_ text: String) { self = "" }
}

/// A document with values in it would be another one for each value.
@available(*, unavailable, message: "a document is a literal: pass values as variables, and join fragments by +")
extension GraphQLDocument: ExpressibleByStringInterpolation {
  /// The parts of such a text.
  public struct StringInterpolation: StringInterpolationProtocol, Equatable {
    /// Takes nothing.
    public init(literalCapacity: Int, interpolationCount: Int) {}
    /// Takes nothing.
    public mutating func appendLiteral(_ literal: StaticString) {}
    /// Takes nothing.
    public mutating func appendInterpolation(_ value: some Any) {}
  }

  /// Not a way to make a document.
  public init(stringInterpolation: StringInterpolation) { self = "" }
}
