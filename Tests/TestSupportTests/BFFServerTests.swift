import Foundation
import TestSupport
import Testing

struct BFFServerTests {
  @Test func `a server starts, counts, forgets and ends`() async throws {
    let server = try await BFFServer.start(arguments: ["--large", "3"])
    let query = #"{"query":"query Size { momentsConnection(userID: \"0\") { totalCount } }"}"#
    let response = try await RawHTTP.post("/graphql", body: [UInt8](query.utf8), port: server.port)
    #expect(response.status == 200)
    #expect(String(decoding: response.body, as: UTF8.self) == #"{"data":{"momentsConnection":{"totalCount":3}}}"#)
    #expect(try await server.stats().operations == ["Size": 1])
    #expect(try await server.stats().requests == ["/graphql": 1])
    try await server.reset()
    #expect(try await server.stats().operations == [:])
    try await server.stop()
    await #expect(throws: (any Error).self) { try await RawHTTP.get("/__stats", port: server.port) }
  }

  @Test func `wrong arguments are an error that shows what the server said`() async throws {
    let error = await #expect(throws: EndedEarly.self) { try await BFFServer.start(arguments: ["--no-such-flag"]) }
    #expect(error?.description.contains("--no-such-flag") == true)
  }

  @Test func `the shared server is one`() async throws {
    #expect(try await BFFServer.shared().port == BFFServer.shared().port)
  }
}
