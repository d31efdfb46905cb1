public import GraphQLClient
import GraphQLLanguage
public import GraphQLSchema
public import StrictJSON
import SystemBase

/// Holds the sessions that people write to a schema, without generating any code.
///
///     let check = SessionCheck(try Schema(parsing: sdl))
///     #expect(check.findings(in: GetUser.self, variables: [.init(id: "7")]).isEmpty)
///
/// The document is validated. The variables are encoded, and coerced as the server would do it. The responses that a
/// correct server may send are made up and decoded, by the session's real decoder: with every nullable field null and
/// not null, lists of no, one and two items, each type of an interface or union and one that does not exist yet, each
/// value of an enum and one that does not exist yet, and what `@include` and `@skip` leave out. Each alternative is tried
/// by itself; combinations of them are not. What was decoded and is `Codable` is encoded and decoded once more, since a
/// cache on disk never hits for a type that cannot read what it writes.
///
/// What is found is a value; an error about responses shows a short response that a correct server may send and that
/// fails. What is one mistake is one finding, which names the types and values that it concerns. The time is about that of
/// decoding one small response for each alternative; where responses are large, many alternatives are tried in one, as long
/// as it can be read. Decoders and encoders run on a thread of the check's own, which has room for what nests.
public struct SessionCheck: Sendable {
  private let schema: Schema
  private let samples: ScalarSamples
  private let decoder: any BodyDecoder
  private let encoder: any BodyEncoder
  private let suppressed: [String]

  /// The most responses that are made up for a session.
  public static let responseLimit = 5000

  /// Makes a check.
  /// - Parameters:
  ///   - schema: The server's schema.
  ///   - samples: Values of the schema's own scalars, and of fields whose texts have a form of their own.
  ///   - coder: What reads and writes JSON, as the client's `decoder` and `encoder`.
  ///   - suppress: The paths of findings to leave out, such as `data.user.nickname`; a `*` at the end stands for anything.
  public init(
    _ schema: Schema, samples: ScalarSamples = ScalarSamples(), coder: some BodyDecoder & BodyEncoder = JSONCoder(),
    suppress: [String] = []
  ) {
    self.schema = schema
    self.samples = samples
    decoder = coder
    encoder = coder
    suppressed = suppress
  }

  /// What does not agree in a session without variables; nothing, if the session is right.
  public func findings<Session: GraphQLSession>(in session: Session.Type) -> [Finding]
  where Session.Variables == NoParameters {
    report(on: session).findings
  }

  /// What does not agree in a session; nothing, if it is right.
  /// - Parameters:
  ///   - session: The session's type.
  ///   - variables: Variables as the session sends them; together they should set everything that can be set.
  ///   - operation: The name of the document's operation that the session runs, if it is not the first one.
  public func findings<Session: GraphQLSession>(
    in session: Session.Type, variables: [Session.Variables], operation: String? = nil
  ) -> [Finding] {
    report(on: session, variables: variables, operation: operation).findings
  }

  /// What does not agree in a session without variables, and what was not explored.
  public func report<Session: GraphQLSession>(on session: Session.Type) -> Report
  where Session.Variables == NoParameters {
    report(on: session, variables: [NoParameters()])
  }

  /// What does not agree in a session, and what was not explored; see `findings(in:variables:operation:)`.
  public func report<Session: GraphQLSession>(
    on session: Session.Type, variables: [Session.Variables], operation: String? = nil
  ) -> Report {
    onDeepStack { makeReport(on: session, variables, operation) }
  }

  private func makeReport<Session: GraphQLSession>(
    on session: Session.Type, _ variables: [Session.Variables], _ operation: String?
  ) -> Report {
    var report = Report()
    let document: DocumentSyntax
    do {
      document = try DocumentSyntax(parsing: session.query.text)
    } catch {
      report.findings = [Finding(severity: .error, path: "query", message: "is not GraphQL: \(error)")]
      return report
    }
    let errors = schema.validate(document)
    report.findings = errors.map { Finding(severity: .error, path: "query", message: $0.description) }
    // What contains itself has no response that ends.
    if errors.contains(where: { $0.rule == .noFragmentCycles || $0.rule == nil }) { return report }
    let plan: OperationPlan
    do {
      plan = try OperationPlan(operation: operation, in: document, schema)
    } catch {
      if report.findings.isEmpty {
        report.findings = [Finding(severity: .error, path: "query", message: error.description)]
      }
      return report
    }
    report.findings += plan.deprecations.map { Finding(severity: .warning, path: "query", message: $0.message) }
    VariablesCheck(schema: schema, plan: plan, samples: samples, encoder: encoder).check(variables, &report)
    var responses = ResponseCheck<Session.ResponseData>(
      plan: plan, samples: samples, decoder: decoder, encoder: encoder,
      parser: .graphQL(.none, of: plan.operationName ?? "", in: session.query))
    responses.check(&report)
    report.findings.removeAll { finding in
      suppressed.contains { $0.last == "*" ? finding.path.hasPrefix($0.dropLast()) : finding.path == $0 }
    }
    report.findings =
      report.findings.filter { $0.severity == .error } + report.findings.filter { $0.severity == .warning }
    return report
  }
}
