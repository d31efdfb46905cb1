import Hummingbird
import Testing

@testable import TimelineServer

@Suite struct VisitorsTests {
  private let visitors = Visitors(checkInterval: .seconds(60), maximumCount: 2)

  private func admit(_ userID: String) throws -> Request {
    let cookie = visitors.admit(Visitor(userID: userID, token: Token(value: "t")))
    var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
    head.headerFields[.cookie] = "\(cookie.name)=\(cookie.value)"
    return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
  }

  private func user(of request: Request) async throws -> String {
    try await visitors.serve(request) { visitor, _ in visitor.userID }
  }

  @Test func `of too many visitors, the one who was not heard for longest is signed out`() async throws {
    let requests = try ["0", "1", "2"].map(admit)
    let error = await #expect(throws: HTTPError.self) { try await user(of: requests[0]) }
    #expect(error?.status == .unauthorized)
    #expect(try await user(of: requests[1]) == "1")
    #expect(try await user(of: requests[2]) == "2")
  }
}
