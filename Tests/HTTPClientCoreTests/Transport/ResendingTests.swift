import Foundation
import HTTPClientCore
import Testing

@Suite struct ResendingTests {
  @Test(arguments: [
    (RequestError.Reach.never, true, true), (.never, false, true), (.rejected, true, true), (.rejected, false, true),
    (.maybe, true, true), (.maybe, false, false),
  ])
  func `a request that may have been carried out is sent again only if it is replayable`(
    reach: RequestError.Reach, isReplayable: Bool, mayBeSentAgain: Bool
  ) throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let request = try HTTPRequest(method: .post, url: url, isReplayable: isReplayable)
    #expect(request.mayBeSentAgain(after: reach) == mayBeSentAgain)
  }

  @Test func `a body from a stream is sent again only if the stream opens again, or was not opened`() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    var request = try HTTPRequest(method: .put, url: url, isReplayable: true)
    func reaches() -> [Bool] { [.never, .rejected, .maybe].map { request.mayBeSentAgain(after: $0) } }
    request.upload = .stream { AsyncStream { $0.finish() } }
    _ = HTTPUploadReader(try #require(request.upload), FileAccess { $0() }, whenReady: {}).isAtEnd
    #expect(reaches() == [true, true, true])
    let once = HTTPUpload.stream(once: AsyncStream { $0.finish() })
    request.upload = once
    #expect(reaches() == [true, true, false])
    for case .stream(let stream) in once.pieces { _ = stream.open() }
    #expect(reaches() == [false, false, false])
  }
}
