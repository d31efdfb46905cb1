import BFFOperations
import Foundation
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Models
import Networking
import StrictJSON
import TestSupport
import Testing

/// The project's own sessions against `schema.graphql`.
@Suite struct MomentsSessionsTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
  }

  @Test func `V2: the sessions of Moments agree with the schema: documents, variables and responses`() {
    let check = SessionCheck(schema)
    func findings<Session: GraphQLSession>(_ sessions: Session...) -> [SessionCheck.Finding] {
      check.findings(in: Session.self, variables: sessions.map(\.variables))
    }
    #expect(findings(GetMomentsByUserIDSession.Session(userID: "1")) == [])
    #expect(findings(GetMomentsConnectionSession.Session(userID: "1", first: 20, after: "cursor")) == [])
    #expect(findings(UpdateMomentLikeSession.Session(isLiked: true, momentID: "1", userID: "1")) == [])
    let photo = GraphQLUpload(HTTPUpload(), fileName: "a.jpg")
    #expect(findings(PostPhotoSession.Session(photo: photo, title: "a", userID: "1")) == [])
    #expect(findings(MomentLikedSession.Session(userID: "1")) == [])
  }

  @Test func `a session that refuses null without an error is found, with the shortest response that fails`() {
    let variables = GetMomentsPage(userID: "1", page: 1).variables
    let findings = SessionCheck(schema).findings(in: GetMomentsPage.self, variables: [variables])
    #expect(findings.map(\.path) == ["data.momentsPage"])
    #expect(findings.first?.witness == #"{"data": {"momentsPage": null}}"#)
    #expect(
      SessionCheck(schema, suppress: ["data.momentsPage"]).findings(in: GetMomentsPage.self, variables: [variables])
        == [])
  }

  @Test func `the operations of the tests and the soak agree with the schema`() {
    let check = SessionCheck(schema)
    #expect(check.findings(in: Ping.self, variables: [Ping().variables]) == [])
    #expect(check.findings(in: CreateMoment.self, variables: [CreateMoment(title: "a").variables]) == [])
    #expect(check.findings(in: LogIn.self) == [])
    #expect(check.findings(in: ReadTitles.self) == [])
  }

  @Test func `each session of Moments has fixtures`() throws {
    let fixtures = Fixtures(schema)
    for seed in 0..<20 as Range<UInt64> {
      let details = try fixtures.data(
        for: GetMomentsByUserIDSession.Session.self, seed: seed, nulls: 0.3,
        overrides: ["getMomentsDetailsByUserID.userDetails.name": "Wei"]
      ).getMomentsDetailsByUserID
      #expect(details.userDetails.name == "Wei")
      #expect(!details.moments.isEmpty)
      _ = try fixtures.data(for: GetMomentsConnectionSession.Session.self, seed: seed)
      _ = try fixtures.data(for: UpdateMomentLikeSession.Session.self, seed: seed)
      _ = try fixtures.data(for: PostPhotoSession.Session.self, seed: seed)
    }
  }
}
