import Foundation
import HTTP
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
}
