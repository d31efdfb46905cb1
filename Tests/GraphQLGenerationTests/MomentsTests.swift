import Foundation
import GeneratedMoments
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import GraphQLGeneration
import GraphQLLanguage
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Models
import Networking
import Streams
import StrictJSON
import TestSupport
import Testing

/// The sessions of Moments: generated, beside those that are written by hand.
@Suite struct MomentsTests {
  private let schema: Schema

  init() throws {
    schema = try Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
  }

  private func client(_ transport: some HTTPTransport) throws -> APIClient {
    try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
  }

  @Test func `the generated sessions of Moments pass the contract check`() throws {
    let check = SessionCheck(schema)
    let photo = GraphQLUpload(HTTPUpload(), fileName: "a.jpg")
    let checked = [
      CheckedSession(check, GetMomentsDetailsByUserIDSession.Session(userID: "1", withLikes: true)),
      CheckedSession(
        check, MomentsConnectionSession.Session(userID: "1", first: 20, after: "cursor", withLikes: true),
        MomentsConnectionSession.Session(userID: "1", first: .null, withLikes: false)),
      CheckedSession(check, MomentsPageSession.Session(userID: "1", page: 1, withLikes: true)),
      CheckedSession(
        check,
        GeneratedMoments.UpdateMomentLikeSession.Session(momentID: "1", userID: "1", isLiked: true, withLikes: true)),
      CheckedSession(
        check, GeneratedMoments.PostPhotoSession.Session(userID: "1", photo: photo, title: "a", withLikes: true)),
      CheckedSession(check, GeneratedMoments.MomentLikedSession.Session(userID: "1", withLikes: true)),
      CheckedSession(check, SearchSession.Session(text: "a")),
      CheckedSession(check, TimelineSession.Session(userID: "1")),
      CheckedSession(check, LikeSession.Session(momentID: "1", userID: "1")),
    ]
    for session in checked { #expect(session.findings == [], "\(session.name)") }
    let operations = try GenerationFolder(target: "GeneratedMoments").generate().operations
    #expect(Set(checked.map(\.name)) == Set(operations.map(\.name)))
  }

  // MARK: - Requests

  /// What two sessions send: the operation's name, its document in the usual format, and its variables.
  private func requests(_ send: (APIClient) async -> Void) async throws -> [JSONValue] {
    let transport = ScriptedTransport(always: .json("{}"))
    await send(try client(transport))
    return try transport.requests.map { request in
      let body = try JSONValue(json: #require(request.body).bytes)
      let document = try DocumentSyntax(parsing: #require(body["query"]?.stringValue))
      // The order of fragments means nothing.
      let definitions = document.definitions.map { $0.printed() }.sorted().map { JSONValue.string($0) }
      return [
        "name": body["operationName"] ?? .null, "document": .array(definitions),
        "variables": body["variables"] ?? .null,
      ]
    }
  }

  @Test(arguments: [true, false])
  func `the generated sessions send what those by hand send`(_ withLikes: Bool) async throws {
    let byHand = try await requests { client in
      let sessions = MomentsSessions(client: client, withLikes: { withLikes })
      _ = try? await sessions.getMomentsByUserID.getMoments(userID: "7").value
      _ = try? await sessions.getMomentsConnection.getMoments(userID: "7", first: 2, after: "c").value
      _ = try? await sessions.getMomentsConnection.getMoments(userID: "7", first: nil, after: nil).value
      _ = try? await sessions.updateMomentLike.updateLike(true, momentID: "m", fromUserID: "7").value
    }
    let generated = try await requests { client in
      let moments = GetMomentsDetailsByUserIDSession(client: client)
      let connection = MomentsConnectionSession(client: client)
      let like = GeneratedMoments.UpdateMomentLikeSession(client: client)
      _ = try? await moments.getMomentsDetailsByUserID(userID: "7", withLikes: withLikes).value
      _ = try? await connection.momentsConnection(userID: "7", first: 2, after: "c", withLikes: withLikes).value
      _ = try? await connection.momentsConnection(userID: "7", withLikes: withLikes).value
      _ = try? await like.updateMomentLike(momentID: "m", userID: "7", isLiked: true, withLikes: withLikes).value
    }
    #expect(byHand.count == 4)
    #expect(generated == byHand)
  }

  @Test func `a photo is posted as a form, with its progress, by both`() throws {
    let client = try client(ScriptedTransport())
    let photo = GraphQLUpload(HTTPUpload(), fileName: "a.png", contentType: "image/png")
    let byHand = try Networking.PostPhotoSession.Session(photo: photo, title: "a", userID: "7", onProgress: { _ in })
      .makeRequest(APICall(.post, on: client))
    let generated = try GeneratedMoments.PostPhotoSession.Session(
      userID: "7", photo: photo, title: "a", withLikes: true, onProgress: { _ in }
    ).makeRequest(APICall(.post, on: client))
    #expect(byHand.upload != nil)
    #expect(generated.upload != nil)
    #expect(generated.onProgress != nil)
    #expect(!generated.isReplayable)
    #expect(generated.operationName == byHand.operationName)
  }

  // MARK: - Values

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `the generated sessions read what those by hand read`(_ seed: UInt64) async throws {
    let server = TestServer(schema: schema, seed: seed, nulls: 0.3, lengths: 0...4)
    let client = try client(server)
    let withLikes = seed % 2 == 0
    let sessions = MomentsSessions(client: client, withLikes: { withLikes })
    let byHand = try await sessions.getMomentsByUserID.getMoments(userID: "7").value
    let generated = try await GetMomentsDetailsByUserIDSession(client: client)
      .getMomentsDetailsByUserID(userID: "7", withLikes: withLikes).value.getMomentsDetailsByUserID
    #expect(MomentsDetails(generated) == byHand)
    let part = try await sessions.getMomentsConnection.getMoments(userID: "7", first: nil, after: nil).value
    let generatedPart = try await MomentsConnectionSession(client: client)
      .momentsConnection(userID: "7", withLikes: withLikes).value.momentsConnection
    #expect(generatedPart.edges.map(\.cursor) == part.edges.map(\.cursor))
    #expect(generatedPart.edges.map { MomentsDetails.Moment($0.node) } == part.edges.map(\.node))
    #expect(generatedPart.pageInfo.endCursor == part.pageInfo.endCursor)
    #expect(generatedPart.totalCount == part.totalCount)
  }

  // MARK: - Errors

  @Test(arguments: [
    #"{"data": null, "errors": [{"message": "no"}]}"#, #"{"errors": [{"message": "no"}]}"#, #"{"data": null}"#, "{}",
    "no",
    #"{"data": {}}"#, #"{"data": {"getMomentsDetailsByUserID": null}}"#,
    #"{"data": {"getMomentsDetailsByUserID": {"userDetails": {"id": "1", "name": "a", "avatar": "b"}, "moments": []}}}"#,
    #"{"data": {"getMomentsDetailsByUserID": {"userDetails": {"id": true}, "moments": []}}}"#,
    #"{"data": {"getMomentsDetailsByUserID": {"userDetails": {"id": 1, "name": 2}}}}"#,
    #"{"data": {"getMomentsDetailsByUserID": {"moments": [], "userDetails": 1}}}"#,
  ])
  func `the generated sessions fail as those by hand do`(_ body: String) async throws {
    let client = try client(ScriptedTransport(always: .json(body)))
    let byHand = await #expect(throws: RequestError.self) {
      try await GetMomentsByUserIDSession(client: client).getMoments(userID: "7").value
    }
    let generated = await #expect(throws: RequestError.self) {
      try await GetMomentsDetailsByUserIDSession(client: client)
        .getMomentsDetailsByUserID(userID: "7", withLikes: true).value
    }
    #expect(generated?.kind == byHand?.kind)
    #expect(generated?.description == byHand?.description)
  }
}

extension MomentsDetails {
  fileprivate init(_ fields: MomentsDetailsFields) {
    self.init(
      userDetails: UserDetails(
        id: fields.userDetails.id, name: fields.userDetails.name, avatar: fields.userDetails.avatar,
        backgroundImage: fields.userDetails.backgroundImage), moments: fields.moments.map(Moment.init))
  }
}

extension MomentsDetails.Moment {
  fileprivate init(_ fields: MomentFields) {
    self.init(
      id: fields.id, userDetails: Author(name: fields.userDetails.name, avatar: fields.userDetails.avatar),
      type: Models.MomentType(rawValue: fields.type.rawValue), title: fields.title, url: fields.url,
      photos: fields.photos,
      createdDate: fields.createdDate, isLiked: fields.isLiked,
      likes: fields.likes?.map { Liker(id: $0.id, avatar: $0.avatar) })
  }
}
