import Foundation
import HTTP
import Testing

@Suite struct HTTPRequestTests {
  @Test func `a request is not to be sent twice unless it says so`() throws {
    #expect(try !request().isReplayable)
    #expect(try HTTPRequest(method: .get, url: url("http://h"), isReplayable: true).isReplayable)
  }

  @Test func `timeouts are 10 seconds to connect, 30 between signs of life and 60 in all`() throws {
    let timeouts = try request().timeouts
    #expect(timeouts == HTTPTimeouts(connect: .seconds(10), idle: .seconds(30), total: .seconds(60)))
  }

  @Test(arguments: ["Content-Length", "transfer-encoding", "CONNECTION", "Upgrade", "te", "Trailer"])
  func `a header that frames the message is refused`(name: String) throws {
    var request = try request(operationName: "getUser")
    #expect(throws: Never.self) { try request.checkFraming() }
    try request.headers.set(name, to: "0")
    let error = #expect(throws: RequestError.self) { try request.checkFraming() }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.lowercased().contains(name.lowercased()) == true)
    #expect(error?.operationName == "getUser")
  }
}
