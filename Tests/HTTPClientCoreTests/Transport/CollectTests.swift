import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import Synchronization
import Testing

@Suite struct CollectTests {
  private let head = HTTPResponsePart.head(HTTPResponseHead(status: 201, headers: ["Server": "s"]))

  private func parts(_ bodies: String...) -> Observable<HTTPResponsePart> {
    .from([head] + bodies.map { .body(Data($0.utf8)) })
  }

  @Test func `a head and its pieces become one response`() async throws {
    let response = try await parts("ab", "c", "早安").collect(upTo: 100).value
    #expect(response == HTTPResponse(status: 201, headers: ["Server": "s"], body: Data("abc早安".utf8)))
  }

  @Test func `trailers are a part of the response, and of its parts`() async throws {
    let trailers: HTTPHeaders = ["Digest": "abc"]
    let response = try await Observable.from([head, .body(Data("a".utf8)), .trailers(trailers)]).collect(upTo: 1).value
    #expect(response.trailers == trailers)
    #expect(response.parts == [head, .body(Data("a".utf8)), .trailers(trailers)])
  }

  @Test func `a response without a body has an empty one`() async throws {
    #expect(try await parts().collect(upTo: 0).value == HTTPResponse(status: 201, headers: ["Server": "s"]))
  }

  @Test func `T3: a body of exactly the limit is accepted, and one more byte fails as too large`() async throws {
    #expect(try await parts("ab", "cd").collect(upTo: 4).value.body.count == 4)
    for stream in [parts("ab", "cd", "e"), parts("abcde"), parts("a", "b", "c", "d", "e", "f")] {
      #expect(await stream.collect(upTo: 4).failure?.kind == .tooLarge)
    }
    #expect(await parts("a").collect(upTo: 0).failure?.kind == .tooLarge)
  }

  @Test func `T3: a body is not read after the first byte over the limit`() async {
    let taken = Atomic<Int>(0)
    let endless = Observable.from(0...)
      .map { $0 == 0 ? head : .body(Data("0123456789".utf8)) }
      .do(onNext: { _ in taken.add(1, ordering: .relaxed) })
    #expect(await endless.collect(upTo: 95).failure?.kind == .tooLarge)
    #expect(taken.load(ordering: .relaxed) == 11)
  }

  @Test func `T3: the exchange behind a response that is too large is cancelled`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .response(body: Data(repeating: 0, count: 100)).inPieces(of: 1))
    #expect(await transport.send(try request()).collect(upTo: 10).failure?.kind == .tooLarge)
    #expect(transport.cancellations == 1)
  }

  @Test func `parts without a head are a bad response`() async {
    #expect(await Observable<HTTPResponsePart>.empty().collect(upTo: 9).failure?.kind == .badResponse)
    let bodyAlone = Observable<HTTPResponsePart>.just(.body(Data("a".utf8)))
    #expect(await bodyAlone.collect(upTo: 9).failure?.kind == .badResponse)
  }

  @Test func `an error in the middle is passed on, and no part of the response`() async throws {
    let lost = RequestError(.connectionLost, "Lost.")
    let transport = ScriptedTransport()
    transport.expect(.any, .json("{}").thenFailing(lost))
    #expect(await transport.send(try request()).collect(upTo: 9).failure?.kind == .connectionLost)
  }

  @Test func `each subscriber collects for itself`() async throws {
    let answer = parts("ab").collect(upTo: 2)
    #expect(try await answer.value.body == Data("ab".utf8))
    #expect(try await answer.value.body == Data("ab".utf8))
  }

  @Test func `disposing stops the exchange`() throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .never)
    let subscription = transport.send(try request()).collect(upTo: 9).subscribe()
    #expect(transport.cancellations == 0)
    subscription.dispose()
    #expect(transport.cancellations == 1)
  }
}
