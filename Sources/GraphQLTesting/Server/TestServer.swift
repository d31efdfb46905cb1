public import GraphQLClient
import GraphQLLanguage
public import GraphQLSchema
public import HTTPClientCore
public import Streams
public import StrictJSON
import SystemBase

/// A GraphQL server in the process, made from a schema, for tests of anything that uses a transport.
///
///     let server = TestServer(schema: schema)
///     try server.resolve("Query.user") { ["id": $0.arguments["id"] ?? nil, "name": "Wei"] }
///     let client = try APIClient(baseURL: url, transport: server)
///
/// It parses, validates, coerces and executes like a real server, and responds as GraphQL over HTTP says: by `POST` and
/// `GET`, in batches, with introspection. A field is resolved by the closure of its coordinate; or else by the member of
/// its name in the object that the parent was resolved to; or else it is made up, from the seed and its path, so that it is
/// the same in every run. So a test says only what it is about, and needs no fixture.
public final class TestServer: HTTPTransport {
  /// What a field is resolved with.
  public typealias Resolver = Executor.Resolver

  /// The schema.
  public let schema: Schema

  /// The documents that are trusted, if only those are.
  let manifest: GraphQLManifest?
  private let generator: ValueGenerator
  private let state = Locked(State())

  private struct State {
    var resolvers: [String: Resolver] = [:]
    var requests: [HTTPRequest] = []
    /// The documents that came with their hashes.
    var documents: [String: String] = [:]
  }

  /// Makes a server.
  /// - Parameters:
  ///   - schema: The schema; with problems, it is used as far as it goes.
  ///   - seed: Other seeds give other values.
  ///   - samples: Values of the schema's own scalars, and of fields whose texts have a form of their own.
  ///   - nulls: How often a nullable field that is made up is null, from 0 to 1.
  ///   - lengths: How many items lists that are made up have.
  ///   - manifest: The documents that are trusted: requests name them by their ids, and others are refused. Without one,
  ///     a document that came with its hash can be named by that (automatic persisted queries).
  public init(
    schema: Schema, seed: UInt64 = 0, samples: ScalarSamples = ScalarSamples(), nulls: Double = 0,
    lengths: ClosedRange<Int> = 1...3, manifest: GraphQLManifest? = nil
  ) {
    self.schema = schema
    self.manifest = manifest
    generator = ValueGenerator(seed: seed, samples: samples, nulls: nulls, lengths: lengths)
  }

  /// Resolves a field with a closure, which is called on the thread that subscribes to the response.
  ///
  /// The closure may return an object of some fields only: the others are resolved or made up. It may leave out
  /// `__typename`, too. A member that the schema does not have is an error of the field, unless its name begins with an
  /// underscore: that is for the closures of the object's own fields. For a field of the root of subscriptions, it returns the list of the events.
  ///
  /// - Parameters:
  ///   - coordinate: The field, such as `Query.user`. One of an interface is that of all objects that implement it and have
  ///     no closure of their own.
  ///   - resolver: Returns the value, or throws: a `FieldError` to say what the response is to say.
  /// - Throws: That the schema has no such field.
  public func resolve(_ coordinate: String, _ resolver: @escaping Resolver) throws(UnknownCoordinate) {
    guard case .field? = (try? schema.element(at: coordinate)) ?? nil else {
      throw UnknownCoordinate(coordinate, schema)
    }
    state.withLock { $0.resolvers[coordinate] = resolver }
  }

  /// Fails a field with an error; a null takes its place, or that of the next parent that may be null.
  public func fail(
    _ coordinate: String, _ message: String = "failed for the test", extensions: [String: JSONValue] = [:]
  ) throws(UnknownCoordinate) {
    try resolve(coordinate) { _ in throw FieldError(message, extensions: extensions) }
  }

  /// The requests so far, in order.
  public var requests: [HTTPRequest] { state.withLock { $0.requests } }

  /// Executes an operation without HTTP.
  ///
  /// - Returns: The response; without `data` if the document is not GraphQL or not valid.
  public func execute(
    _ document: String, operationName: String? = nil, variables: [String: JSONValue] = [:]
  ) -> ExecutionResult {
    GraphQLExchange(query: document, operationName: operationName, variables: variables).response(from: self).result
  }

  /// The document of an id: one of the manifest, or one that came with its hash before.
  func document(of id: String) -> String? {
    if let manifest { return manifest.operations.first { $0.id == id }?.body }
    return state.withLock { $0.documents[id] }
  }

  /// Why a document is not taken that came as a text; `nil` if it is.
  func refusal(of text: String, hash: String?) -> ExecutionError? {
    if let manifest, !manifest.operations.contains(where: { $0.body == text }) {
      return ExecutionError(message: "the document is not in the manifest of trusted documents")
    }
    guard let hash else { return nil }
    guard SHA256.hexadecimal(of: text.utf8) == hash else {
      return ExecutionError(message: "the hash is not that of the document")
    }
    state.withLock { $0.documents[hash] = text }
    return nil
  }

  /// The response to a request.
  public func respond(to request: HTTPRequest) -> HTTPResponse {
    state.withLock { $0.requests.append(request) }
    return GraphQLOverHTTP(self).response(to: request)
  }

  /// A cold stream of the response; see `HTTPTransport.send(_:)`. It calls back on the subscriber's thread.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      try request.checkFraming()
      return .from(respond(to: request).parts)
    }
  }

  func execute(_ document: DocumentSyntax, _ operationName: String?, _ variables: [String: JSONValue])
    -> ExecutionResult
  {
    executor { _, resolve in try resolve() }.execute(document, operationName: operationName, variables: variables)
  }

  /// The responses of a subscription: one for each event that the closure of its field returns, or else one that is made
  /// up. If it cannot begin, the only response says why.
  func events(
    of document: DocumentSyntax, _ operationName: String?, _ variables: [String: JSONValue]
  ) -> [ExecutionResult] {
    let source = Locked<[JSONValue?]>([])
    let isRoot = { @Sendable (request: Executor.FieldRequest) in request.path.count == 1 }
    let begun = executor { request, resolve in
      guard isRoot(request) else { return try resolve() }
      let value = try resolve()
      source.withLock { $0 = value?.arrayValue ?? [value] }
      return .null
    }
    let first = begun.execute(document, operationName: operationName, variables: variables)
    let events = source.withLock { $0 }
    guard !events.isEmpty || first.errors.isEmpty else { return [first] }
    return events.map { event in
      executor { request, resolve in try isRoot(request) ? event : resolve() }
        .execute(document, operationName: operationName, variables: variables)
    }
  }

  /// An executor whose fields have the values that a closure gives; it is passed what resolves them usually, if anything
  /// does. What there is no value for is made up.
  private func executor(
    _ value: @escaping @Sendable (Executor.FieldRequest, () throws -> JSONValue?) throws -> JSONValue?
  ) -> Executor {
    let resolvers = state.withLock { $0.resolvers }
    return Executor(schema) { [generator, schema] request in
      let field = request.field
      let value = try value(request) {
        let coordinates = [field.coordinate] + field.owner.interfaces.map { "\($0.name).\(field.name)" }
        let resolver = coordinates.lazy.compactMap { resolvers[$0] }.first
        guard let resolver else { return request.parent[field.name] }
        let value = try resolver(request)
        try schema.checkMembers(of: value, field.type, at: field.coordinate)
        return value
      }
      return generator.complete(value, field.type, request)
    }
  }
}

extension Schema {
  /// Throws if an object that a closure returned has a member that none of the types has that it may be of.
  fileprivate func checkMembers(of value: JSONValue, _ type: TypeReference, at coordinate: String) throws(FieldError) {
    var pending = [(value: value, type: type, place: coordinate)]
    while let (value, type, place) = pending.popLast() {
      switch value {
      case .array(let elements):
        guard let item = type.item else { continue }
        for (index, element) in elements.enumerated().reversed() {
          pending.append((element, item, "\(place)[\(index)]"))
        }
      case .object(let members) where type.named.kind.isComposite && !type.isList:
        let own = members["__typename"]?.stringValue.flatMap { self.type(named: $0) }
        let types = own.map { [$0] } ?? (type.named.possibleTypes + [type.named])
        // What begins with an underscore is the closures' own.
        for (name, value) in members.sorted(by: { $0.key < $1.key }) where !name.hasPrefix("_") {
          guard let field = types.lazy.compactMap({ $0.field(named: name) }).first else {
            let near = namesLike(name, among: types.flatMap { $0.fields.map(\.name) }).first
            throw FieldError(
              "\(place) was resolved to an object with \"\(name)\", but \(own?.name ?? type.named.name) has no such field"
                + (near.map { "; did you mean \($0)?" } ?? ""))
          }
          pending.append((value, field.type, "\(place).\(name)"))
        }
      default: continue
      }
    }
  }
}

/// A coordinate that is no field of the schema.
public struct UnknownCoordinate: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what may be meant.
  public let description: String

  init(_ coordinate: String, _ schema: Schema) {
    let fields = schema.types.lazy.flatMap { type in type.fields.map(\.coordinate) }
    let near = schema.namesLike(coordinate, among: fields)
    description = "the schema has no field \(coordinate)" + (near.first.map { "; did you mean \($0)?" } ?? "")
  }
}
