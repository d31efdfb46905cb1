import Foundation
import GeneratedMoments
import GraphQLClient
import GraphQLGeneration
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import TestSupport
import Testing

/// The sessions of Moments, generated.
@Suite struct MomentsTests {
  @Test func `the generated sessions of Moments pass the contract check`() throws {
    let schema = try Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
    let check = SessionCheck(schema)
    let photo = GraphQLUpload(HTTPUpload(), fileName: "a.jpg")
    let checked = [
      CheckedSession(check, GetMomentsDetailsByUserIDSession.Session(userID: "1", withLikes: true)),
      CheckedSession(
        check, MomentsConnectionSession.Session(userID: "1", first: 20, after: "cursor", withLikes: true),
        MomentsConnectionSession.Session(userID: "1", first: .null, withLikes: false)),
      CheckedSession(check, MomentsPageSession.Session(userID: "1", page: 1, withLikes: true)),
      CheckedSession(
        check, UpdateMomentLikeSession.Session(momentID: "1", userID: "1", isLiked: true, withLikes: true)),
      CheckedSession(check, PostPhotoSession.Session(userID: "1", photo: photo, title: "a", withLikes: true)),
      CheckedSession(check, MomentLikedSession.Session(userID: "1", withLikes: true)),
      CheckedSession(check, SearchSession.Session(text: "a")),
    ]
    for session in checked { #expect(session.findings == [], "\(session.name)") }
    #expect(
      Set(checked.map(\.name))
        == Set(try GenerationFolder(target: "GeneratedMoments").generate().operations.map(\.name)))
  }
}
