import Foundation
import HTTP
import Streams
import TestSupport
import Testing

/// T8, as far as a `URLSession` lives through it: a cut in the middle of the head ends the process.
struct URLSessionFaultTests {
  typealias Fault = ScriptedServer.Fault

  /// What a server does, and how the exchange ends: with a kind of error, or with a status.
  struct Case: CustomStringConvertible {
    let fault: Fault
    let ending: Ending
    var description: String { fault.name }

    init(_ fault: Fault, _ ending: Ending) {
      self.fault = fault
      self.ending = ending
    }
  }

  enum Ending: Equatable {
    case status(Int)
    case failure(RequestError.Kind)
  }

  @Test(arguments: [
    Case(.closedBeforeHeaders, .failure(.connectionLost)),
    Case(.resetBeforeHeaders, .failure(.connectionLost)),
    Case(.closedAfterHeaders, .failure(.connectionLost)),
    Case(.resetAfterHeaders, .failure(.connectionLost)),
    Case(.resetInBody, .failure(.connectionLost)),
    Case(.truncatedContentLength, .failure(.connectionLost)),
    Case(.truncatedChunked, .failure(.connectionLost)),
    Case(.truncatedChunk, .failure(.connectionLost)),
    Case(.garbageStatusLine, .failure(.badResponse)),
    Case(.interimResponses, .status(200)),
    Case(.noContent, .status(204)),
    Case(.notModified, .status(304)),
    Case(.status600, .status(600)),
    Case(.endlessHeaders, .failure(.badResponse)),
    Case(.endlessBody, .failure(.tooLarge)),
    Case(.drippingBody, .failure(.timedOut)),
    Case(.neverAnswering, .failure(.timedOut)),
    Case(.neverFinishing, .failure(.timedOut)),
    Case(.wrongContentType, .status(200)),
    Case(.emptyBody, .status(200)),
    Case(.byteOrderMark, .status(200)),
    Case(.truncatedGzip, .failure(.badResponse)),
  ])
  func `T8: a server of bad manners has a documented end`(_ test: Case) async throws {
    let server = try ScriptedServer(test.fault)
    let total: Duration = test.ending == .failure(.timedOut) ? .milliseconds(700) : .seconds(20)
    let timeouts = HTTPTimeouts(idle: .seconds(15), total: total)
    let request = try HTTPRequest(method: .post, url: server.url, body: Data("{}".utf8), timeouts: timeouts)
    let ending: Ending
    do {
      let response = try await URLSessionTransport().send(request).collect(upTo: 1 << 20).value
      ending = .status(response.head.status)
    } catch let error as RequestError {
      ending = .failure(error.kind)
    }
    #expect(ending == test.ending)
  }

  @Test func `T8: a refused connection is an error of its own`() async throws {
    let port = try RefusingPort()
    let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
    let request = try HTTPRequest(method: .get, url: url)
    let error = await #expect(throws: RequestError.self) {
      try await URLSessionTransport().send(request).collect(upTo: 100).value
    }
    #expect(error?.kind == .cannotConnect)
  }

  @Test func `a challenge for a password is given as the 401 that it is`() async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(401, headers: [("WWW-Authenticate", #"Basic realm="x""#)], body: "no") })
    let request = try HTTPRequest(method: .get, url: server.url)
    let response = try await URLSessionTransport().send(request).collect(upTo: 100).value
    #expect(response.head.status == 401)
    #expect(server.requests.count == 1)
  }
}
