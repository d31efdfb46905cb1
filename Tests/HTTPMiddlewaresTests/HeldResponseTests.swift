import Foundation
import HTTPClientCore
import HTTPMiddlewares
import Streams
import Testing

@Suite struct HeldResponseTests {
  @Test(arguments: [(false, 10), (true, 10), (true, 0)])
  func `trailers come behind the body, whether or not a response is held back`(isHeld: Bool, limit: Int) async throws {
    let parts: [HTTPResponsePart] = [
      .head(HTTPResponseHead(status: 200)), .body(Data("ab".utf8)), .trailers(["Digest": "abc"]),
    ]
    var passed: [HTTPResponsePart] = []
    let held = Observable.from(parts).held(upTo: limit, where: { _ in isHeld }, refusal: { _, _ in nil })
    for try await part in held.values(bufferingPolicy: .unbounded) { passed.append(part) }
    #expect(passed == parts)
  }
}
