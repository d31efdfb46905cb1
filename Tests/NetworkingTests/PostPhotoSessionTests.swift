import Foundation
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Models
import Networking
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

@Suite struct PostPhotoSessionTests {
  private func photo(_ text: String) -> GraphQLUpload {
    var content = HTTPUpload()
    content.append(Data(text.utf8))
    return GraphQLUpload(content, fileName: "a.png", contentType: "image/png")
  }

  @Test func `a photo is posted with its title, and its progress is reported`() async throws {
    let server = try await BFFServer.start()
    let session = PostPhotoSession(client: try APIClient(baseURL: server.graphqlURL))
    let progress = Monitor(HTTPProgress())
    let moment = try await session.postPhoto(photo("photo"), title: "光", userID: "5") { latest in
      progress.update { $0 = latest }
    }.value
    #expect(moment.title == "光")
    #expect(moment.type == .photos)
    #expect(moment.likes == [])
    #expect(moment.isLiked == false)
    let url = try #require(moment.photos.first.flatMap { URL(string: $0) })
    #expect(try await RawHTTP.get(url.path, port: server.port).body == Array("photo".utf8))
    let last = try await progress.wait(for: "the whole response") { $0.received > 0 }
    #expect(last.sent == last.totalToSend)
    #expect(last.sent > 5)
  }

  @Test func `R1: a photo is not to be sent again by itself`() throws {
    let session = PostPhotoSession.Session(photo: photo("x"), userID: "0")
    let request = try session.makeRequest(APICall(.post, on: client()))
    #expect(!request.isReplayable)
    #expect(request.upload != nil)
    #expect(request.body == nil)
  }

  @Test func `a handler gets the request as a value, and the toggle is read for each`() async throws {
    let toggles = Locked<[Bool]>([])
    let withLikes = Locked(true)
    let session = PostPhotoSession(
      sessionHandler: { session in
        toggles.withLock { $0.append(session.variables.withLikes) }
        return .error(RequestError(.timedOut, session.variables.title ?? "no title"))
      }, withLikes: { withLikes.withLock { $0 } })
    let posting = session.postPhoto(photo("x"), title: nil, userID: "0")
    #expect(await posting.failure?.message == "no title")
    withLikes.withLock { $0 = false }
    #expect(await posting.failure?.kind == .timedOut)
    #expect(toggles.withLock { $0 } == [true, false])
  }
}
