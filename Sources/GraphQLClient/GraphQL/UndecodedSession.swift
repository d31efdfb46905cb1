package import GraphQLLanguage
package import HTTPClientCore
package import StrictJSON
import SystemBase

/// A session whose `data` stay the JSON that came: for a cache that takes responses apart into records, and lets the
/// session's own decoder read what it puts together from them.
///
/// It is sent exactly as the session is, but for what is added to its document. Errors beside the data are given, whatever the session's error policy is: that
/// treats them in ``response(_:by:)``.
package struct UndecodedSession<Session: GraphQLSession>: GraphQLSession {
  package typealias ResponseData = PaddedBytes
  package typealias Variables = Session.Variables

  package let session: Session

  /// The session's document with fields that the cache needs; `nil` to send the session's own.
  private let rewritten: GraphQLDocument?

  package init(_ session: Session, rewritten: GraphQLDocument? = nil) {
    self.session = session
    self.rewritten = rewritten
  }

  package static var query: GraphQLDocument { Session.query }
  package var variables: Session.Variables { session.variables }
  package var extensions: JSONValue? { session.extensions }
  package var errorPolicy: GraphQLErrorPolicy { .all }
  package var wire: GraphQLWire? { session.wire }
  package var operationName: String { session.operationName }
  package var path: String { session.path }
  package var headers: HTTPHeaders { get throws { try session.headers } }
  package var timeouts: HTTPTimeouts? { session.timeouts }
  package var idempotencyKey: String? { session.idempotencyKey }
  package var secrets: [String] { session.secrets }
  package var isResponseSecret: Bool { session.isResponseSecret }
  package func isReplayable(with method: HTTPMethod) -> Bool { session.isReplayable(with: method) }
  package func makeRequest(_ call: APICall) throws -> HTTPRequest {
    var call = call
    call.rewritten = rewritten
    return try session.makeRequest(call)
  }
  package var parameters: GraphQLRequest<Variables> {
    var parameters = session.parameters
    if let rewritten { parameters.document = rewritten }
    return parameters
  }
}

extension UndecodedSession: GraphQLSubscription where Session: GraphQLSubscription {
  package var buffering: LiveBuffering { session.buffering }
}

extension UndecodedSession {
  /// The variables as the request has them, with null in the place of files.
  package func variables(by encoder: any BodyEncoder) throws -> RawJSON {
    try RawJSON(json: GraphQLUpload.encode(variables, by: encoder).json.bytes)
  }

  /// The data of a whole response as the session decodes them: with a member for each fragment of theirs that has a label.
  package func decodable(_ data: PaddedBytes) throws -> PaddedBytes {
    guard let plan = Self.query.incrementalPlan(named: operationName), plan.hasFragments else { return data }
    let labelled = IncrementalMerger.labelled(try data.read { try JSONValue(json: $0) }, by: plan)
    return PaddedBytes(try JSONCoder().encode(labelled).bytes)
  }

  /// The response as the session has it: its data decoded, its errors treated by the session's policy.
  ///
  /// Throws `graphQL` for errors that the policy does not accept, and `undecodable` for data that are no `ResponseData`.
  package func response(
    _ response: ResponseType, by decoder: any BodyDecoder
  ) throws(RequestError) -> Session.ResponseType {
    do {
      var data: Session.ResponseData?
      do { data = try decoder.decode(Session.ResponseData.self, from: response.data) } catch {
        // As in a response that is decoded at once, errors say more than what is missing because of them.
        throw response.errors.isEmpty
          ? DecodingFailure(error).inside("data")
          : RequestError(graphQL: response.errors, besideData: true) as any Error
      }
      return try GraphQLResponse(
        data: data, errors: response.errors, extensions: response.extensions, policy: session.errorPolicy)
    } catch {
      throw RequestError(reading: error).named(operationName)
    }
  }
}

extension GraphQLDocument {
  /// What the operation of this name, or the only one, selects. It is found out each time: keep it.
  ///
  /// Throws `invalidRequest` if there is no such operation, or if the text is not GraphQL.
  package func selections(ofOperation name: String) throws(RequestError) -> Selections {
    let wanted = try operation(named: name)
    guard let document = try? DocumentSyntax(parsing: text),
      let operation = document.operations.first(where: { $0.name?.text == wanted.name })
    else { throw RequestError(.invalidRequest, "The document has no operation named '\(name)'.") }
    return Selections(of: operation, FragmentTable(document))
  }
}

extension BodyDecoder {
  /// Decodes a value, or takes the JSON as it is where that is wanted.
  func decode<Value: Decodable & Sendable>(orKeepAs type: Value.Type, from json: Data) throws -> Value {
    if let raw = type == RawJSON.self ? try RawJSON(json: json.bytes) as? Value : nil { return raw }
    if let raw = type == PaddedBytes.self ? try PaddedBytes(json: json.bytes) as? Value : nil { return raw }
    return try decode(type, from: json)
  }
}
