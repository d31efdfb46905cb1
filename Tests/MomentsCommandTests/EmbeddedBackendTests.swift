import Foundation
import HTTPClientCore
import Models
import Networking
import Streams
import SystemBase
import Testing

@testable import moments

struct EmbeddedBackendTests {
  private let backend = EmbeddedBackend(.sample(now: 1_800_000_000))

  @Test func `four users have timelines, one of them an empty one`() async throws {
    var counts: [Int] = []
    for id in 0...3 {
      let details = try await backend.getMoments(userID: "\(id)").value
      #expect(details.userDetails.id == "\(id)")
      counts.append(details.moments.count)
    }
    #expect(counts == [5, 2, 1, 0])
  }

  @Test func `moments are the newest first, and in the past`() async throws {
    let moments = try await backend.getMoments(userID: "0").value.moments
    let dates = moments.compactMap { Int64($0.createdDate) }
    #expect(dates.count == moments.count)
    #expect(dates == dates.sorted(by: >))
    #expect(dates.allSatisfy { $0 < 1_800_000_000 })
  }

  @Test func `a like is seen in its response and in the next read, and can be taken back`() async throws {
    for isLiked in [true, true, false, false] {
      let answer = try await backend.updateLike(isLiked, momentID: "m0-1", fromUserID: "0").value
      #expect(try await backend.getMoments(userID: "0").value == answer)
      let moment = try #require(answer.moments.first { $0.id == "m0-1" })
      #expect(moment.isLiked == isLiked)
      #expect(moment.likes?.map(\.id) == (isLiked ? ["0"] : []))
    }
  }

  @Test func `the response to another user's like is the owner's timeline, whose own likes count`() async throws {
    let answer = try await backend.updateLike(true, momentID: "m1-0", fromUserID: "3").value
    #expect(answer.userDetails.id == "1")
    #expect(answer.moments.first?.likes?.map(\.id) == ["1", "3"])
    #expect(answer.moments.first?.isLiked == true)
    let second = try await backend.updateLike(true, momentID: "m1-1", fromUserID: "3").value
    #expect(second.moments.last?.isLiked == false)
  }

  @Test func `a photo becomes the first moment of the user's timeline, and progress ends with its size`() async throws {
    let backend = EmbeddedBackend(.sample(now: 1_800_000_000), now: { 1_800_000_060 })
    var content = HTTPUpload()
    content.append(Data("photo".utf8))
    let photo = GraphQLUpload(content, fileName: "a b.png")
    let sent = Locked(0)
    let posting = backend.postPhoto(photo, title: "t", userID: "1") { progress in sent.withLock { $0 = progress.sent } }
    let moment = try await posting.value
    #expect(moment.photos == ["https://img.example.com/p/a%20b.png"])
    #expect(moment.createdDate == "1800000060")
    #expect(sent.withLock { $0 } == 5)
    let moments = try await backend.getMoments(userID: "1").value.moments
    #expect(moments.first == moment)
    #expect(Set(moments.map(\.id)).count == 3)
    let unknown = backend.postPhoto(photo, title: nil, userID: "9", onProgress: nil)
    let error = await #expect(throws: RequestError.self) { try await unknown.value }
    #expect(error?.kind == .notFound)
  }

  @Test func `likes may be left out`() async throws {
    let backend = EmbeddedBackend(.sample(now: 0), withLikes: { false })
    let read = try await backend.getMoments(userID: "0").value
    let like = try await backend.updateLike(true, momentID: "m0-0", fromUserID: "0").value
    #expect((read.moments + like.moments).allSatisfy { $0.likes == nil && $0.isLiked == nil })
  }

  @Test func `an unknown user or moment is an error that names it, and changes nothing`() async throws {
    let before = try await backend.getMoments(userID: "0").value
    for stream in [
      backend.getMoments(userID: "nobody"), backend.updateLike(true, momentID: "nobody", fromUserID: "0"),
      backend.updateLike(true, momentID: "m0-1", fromUserID: "nobody"),
    ] {
      let error = try await #require(throws: RequestError.self) { try await stream.value }
      #expect(error.kind == .notFound)
      #expect(error.message.contains("'nobody'"))
    }
    #expect(try await backend.getMoments(userID: "0").value == before)
  }

  @Test func `the embedded backend does nothing before it is subscribed to`() async throws {
    let before = try await backend.getMoments(userID: "0").value
    _ = backend.updateLike(true, momentID: "m0-1", fromUserID: "0")
    #expect(try await backend.getMoments(userID: "0").value == before)
  }

  @Test func `eight threads that like at once lose no like`() async throws {
    let users = (0..<8).map {
      MomentsDetails.UserDetails(id: "\($0)", name: "n", avatar: "a", backgroundImage: "b")
    }
    let post = MomentsDetails.Moment(
      id: "m", userDetails: .init(name: "n", avatar: "a"), type: .photos, createdDate: "0")
    let backend = EmbeddedBackend(
      EmbeddedState(users: users, timelines: ["0": [.init(post: post, likerIDs: [])]]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for user in users {
        group.addTask {
          for _ in 0..<100 {
            _ = try await backend.updateLike(true, momentID: "m", fromUserID: user.id).value
          }
        }
      }
      try await group.waitForAll()
    }
    let likes = try await backend.getMoments(userID: "0").value.moments.first?.likes
    #expect(likes.map { $0.map(\.id).sorted() } == (0..<8).map(String.init))
  }
}
