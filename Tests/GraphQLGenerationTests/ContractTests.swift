import Foundation
import GeneratedShapes
import GraphQLClient
import GraphQLGeneration
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import StrictJSON
import TestSupport
import Testing

/// What the contract check says of a session.
struct CheckedSession {
  let name: String
  let findings: [SessionCheck.Finding]

  init<Session: GraphQLSession>(_ check: SessionCheck, _ sessions: Session...) {
    name = Session.query.operations.first?.name ?? ""
    findings = check.findings(in: Session.self, variables: sessions.map(\.variables))
  }
}

/// Generated sessions against the schemas that they were generated from.
@Suite struct ContractTests {
  /// All input fields set, one in another.
  private static let filter = IssueFilter(
    state: .some(.open), labels: .some(["a"]), authors: .some(["1"]), since: .some(Date(timeIntervalSince1970: 0)),
    minimumComments: 1, and: .some([IssueFilter(state: .null)]), not: .some(IssueFilter(labels: .some(["b"]))))

  @Test func `generated sessions of every shape pass the contract check`() throws {
    let folder = GenerationFolder(target: "GeneratedShapes")
    let schema = try Schema(
      parsing: String(contentsOf: folder.url.appendingPathComponent("schema.graphql"), encoding: .utf8))
    let samples: ScalarSamples = ["BigInt": [1, 9_007_199_254_740_993], "JSON": [["a": [1, .null]]]]
    let check = SessionCheck(schema, samples: samples)
    let file = GraphQLUpload(HTTPUpload(), fileName: "a.jpg")
    let odd = OddInput(self_: 1, init_: "a", in: 2, default: true, json: .some(["a": 1]), value: .some(.self_))
    let checked = [
      CheckedSession(check, ViewerSession.Session()),
      CheckedSession(check, ViewerFieldsSession.Session()),
      CheckedSession(check, ViewerMixedSession.Session()),
      CheckedSession(check, ViewerConditionalSession.Session(long: true, short: false)),
      CheckedSession(check, ViewerSameSession.Session(long: true)),
      CheckedSession(check, ViewerAliasesSession.Session()),
      CheckedSession(check, RootFragmentSession.Session()),
      CheckedSession(check, ViewerTwiceSession.Session()),
      CheckedSession(check, ViewerPartsSession.Session(long: true)),
      CheckedSession(check, FeedPartsSession.Session(long: true)),
      CheckedSession(check, NodeSession.Session(id: "1")),
      CheckedSession(check, NodeTypenameSession.Session(id: "1")),
      CheckedSession(check, NodeKindsSession.Session(ids: ["1"])),
      CheckedSession(check, NodeCommentableSession.Session(id: "1", more: true)),
      CheckedSession(check, NodeConditionalSession.Session(id: "1", more: true)),
      CheckedSession(check, NodeActorSession.Session(id: "1", more: true)),
      CheckedSession(check, SearchSession.Session(text: "a", first: 1, kinds: .some([.user]))),
      CheckedSession(check, ShapesSession.Session()),
      CheckedSession(check, PinnedSession.Session()),
      CheckedSession(check, FeedSession.Session(first: 1)),
      CheckedSession(check, NestedSession.Session(id: "1")),
      CheckedSession(check, RepositorySession.Session(owner: "a", name: "b")),
      CheckedSession(check, RepositoryCaughtSession.Session(owner: "a", name: "b")),
      CheckedSession(
        check,
        IssuesSession.Session(
          filter: .some(Self.filter), order: .some(IssueOrder(field: .comments, direction: .ascending))),
        IssuesSession.Session()),
      CheckedSession(check, IssueListSession.Session(first: 1), IssueListSession.Session()),
      CheckedSession(
        check, UserBySession.Session(by: .id("1")), UserBySession.Session(by: .owner(.owner(.login("a"))))),
      CheckedSession(check, MatrixSession.Session()),
      CheckedSession(check, SettingsSession.Session()),
      CheckedSession(check, RoleNamedSession.Session(name: .admin)),
      CheckedSession(check, CommentsSession.Session(id: "1")),
      CheckedSession(check, OddSession.Session(in: .some(odd), errorPolicy_: true, self_: false)),
      CheckedSession(
        check,
        OddVariablesSession.Session(
          variables_: .some(.yes), sessionHandler_: .some(.allCases_),
          session: .some(DateInput(at: .some(Date(timeIntervalSince1970: 0)))))),
      CheckedSession(check, ClassSession.Session()),
      CheckedSession(check, URLOfViewerSession.Session()),
      CheckedSession(check, _PrivateSession.Session()),
      CheckedSession(check, FragmentNamedTypeSession.Session()),
      CheckedSession(
        check, AddCommentSession.Session(input: AddCommentInput(subject: "1", body: "a", clientMutationID: "b"))),
      CheckedSession(check, CloseIssueSession.Session(id: "1", reason: .some(.completed))),
      CheckedSession(check, SetSettingsSession.Session(settings: ["a": 1])),
      CheckedSession(
        check,
        AttachSession.Session(
          file: file,
          more: .some([
            AttachmentInput(name: "a", file: file, next: .some(AttachmentInput(name: "b", file: file)), size: 1)
          ]))),
      CheckedSession(
        check, RenameSession.Session(input: RenameInput(repository: "1", name: "a", owner: .some(.login("b"))))),
      CheckedSession(check, CommentAddedSession.Session(issue: "1")),
      CheckedSession(check, TicksSession.Session()),
      CheckedSession(check, EventsSession.Session()),
      CheckedSession(check, RepositoryPageSession.Session(owner: "a", name: "b", after: .some("c"))),
      CheckedSession(check, TimelineActorsSession.Session(ids: ["1"])),
      CheckedSession(
        check,
        IssuesOfOthersSession.Session(authors: ["1"], since: .some(Date(timeIntervalSince1970: 0)), last: .some("b"))),
      CheckedSession(check, CloseTwoSession.Session(first: "1", second: "2")),
      CheckedSession(check, EventKindsSession.Session()),
      CheckedSession(check, LaterLabelledSession.Session()),
      CheckedSession(check, LaterUnlabelledSession.Session()),
      CheckedSession(check, LaterOffSession.Session()),
      CheckedSession(check, LaterIfSession.Session(defer: true)),
      CheckedSession(check, LaterListSession.Session()),
      CheckedSession(check, LaterNestedSession.Session(id: "1")),
    ]
    // Of these, directives say that they are null in no response without errors.
    let refused = [
      "Repository": "data.repository", "RepositoryCaught": "data.repository.languages",
      "RepositoryPage": "data.repository",
    ]
    for session in checked {
      var findings = session.findings.filter { !$0.message.contains("is deprecated") }
      if let path = refused[session.name] {
        #expect(findings.map(\.condition) == ["\(path) is null"], "\(session.name)")
        findings = []
      }
      #expect(findings == [], "\(session.name)")
    }
    #expect(Set(checked.map(\.name)) == Set(try folder.generate().operations.map(\.name)))
  }
}
