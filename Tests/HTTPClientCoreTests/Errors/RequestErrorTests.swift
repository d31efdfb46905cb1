import Foundation
import HTTPClientCore
import HTTPTestSupport
import Streams
import Testing

@Suite struct RequestErrorTests {
  private struct Odd: Error {}

  @Test func `an error is one line that says operation, kind, message and excerpt`() {
    let error = RequestError(.httpStatus, "Status 500.", operationName: "getUser", status: 500, excerpt: "oh no")
    #expect("\(error)" == "getUser: HTTP status: Status 500. The response begins: oh no")
    #expect("\(RequestError(.cancelled, "Stopped."))" == "cancelled: Stopped.")
    #expect("\(RequestError(.unknown, "No money", excerpt: "{"))".hasSuffix("No money. The response begins: {"))
  }

  @Test func `S5: no part of an error breaks its line or drives a terminal`() {
    for control in controls {
      let text = "a\(control)b"
      let error = RequestError(.graphQL, text, operationName: text, excerpt: text)
      #expect(error.description.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }
  }

  @Test func `message, excerpt and the whole line are bounded`() {
    let long = String(repeating: "x", count: 100_000)
    let error = RequestError(.httpStatus, long, operationName: long, excerpt: long)
    #expect(error.message.utf8.count < 1030)
    #expect((error.excerpt?.utf8.count ?? 0) < 520)
    #expect(error.description.utf8.count < 2048)
  }

  @Test func `the kind and the status tell what became of a request, unless it is set`() {
    for kind in [RequestError.Kind.invalidRequest, .cannotConnect, .circuitOpen, .overloaded, .forkedProcess] {
      #expect(RequestError(kind, "", status: 429).reached == .never)
    }
    for kind in [RequestError.Kind.timedOut, .connectionLost, .cancelled, .badResponse, .httpStatus, .unknown] {
      #expect(RequestError(kind, "").reached == .maybe)
      #expect(RequestError(kind, "", reached: .never).reached == .never)
    }
    for status in [401, 425, 429] { #expect(RequestError(.httpStatus, "", status: status).reached == .rejected) }
    for status in [400, 403, 408, 500, 503] { #expect(RequestError(.httpStatus, "", status: status).reached == .maybe) }
    var error = RequestError(.cannotConnect, "")
    error.reached = .maybe
    #expect(error.reached == .maybe)
  }

  @Test func `an error takes the name of an operation once`() {
    let error = RequestError(.timedOut, "Late.")
    #expect(error.named(nil).operationName == nil)
    #expect(error.named("a").operationName == "a")
    #expect(error.named("a").named("b").operationName == "a")
  }

  @Test func `wrapping an error about a date that is no number does not trap`() {
    let context = EncodingError.Context(codingPath: [], debugDescription: "not a number")
    let error = RequestError(wrapping: EncodingError.invalidValue(Date(timeIntervalSince1970: .nan), context))
    #expect(error.kind == .unknown)
    #expect(error.message == "A value cannot be encoded: not a number")
  }

  @Test func `wrapping keeps an error of the family, and makes the cause of any other`() {
    let error = RequestError(wrapping: RequestError(.tooLarge, "Big.", status: 200))
    #expect(error.kind == .tooLarge)
    #expect(error.status == 200)
    let odd = RequestError(wrapping: Odd())
    #expect(odd.kind == .unknown)
    #expect(odd.cause is Odd)
    #expect(RequestError(wrapping: CancellationError()).kind == .cancelled)
    #expect(RequestError(wrapping: StreamError.timeout).kind == .timedOut)
  }

  @Test func `kinds are distinguished by name, and others may be made`() {
    let mine = RequestError.Kind("mine")
    #expect(mine == RequestError.Kind("mine"))
    #expect(mine != .unknown)
    #expect("\(mine)" == "mine")
    let all: Set<RequestError.Kind> = [
      .invalidRequest, .cannotConnect, .insecure, .connectionLost, .timedOut, .badResponse, .httpStatus,
      .redirectRefused, .tooLarge, .undecodable, .cancelled, .unknown,
    ]
    #expect(all.count == 12)
  }

  @Test func `errors that say the same are equal, and their causes count by type and description`() {
    struct Cause: Error { let number: Int }
    let error = RequestError(.timedOut, "Late.", operationName: "getUser", status: 504, cause: Cause(number: 1))
    var other = RequestError(.timedOut, "Late.", operationName: "getUser", status: 504, cause: Cause(number: 1))
    #expect(error == other)
    #expect(error.hashValue == other.hashValue)
    other.retryAfter = .seconds(1)
    #expect(error != other)
    other = error
    other.cause = Cause(number: 2)
    #expect(error != other)
    other.cause = nil
    #expect(error != other)
    #expect(other == other)
    other = error
    other.reached = .never
    #expect(error != other)
    let date = Date(timeIntervalSince1970: .nan)
    let invalid = EncodingError.invalidValue(date, .init(codingPath: [], debugDescription: "No date."))
    #expect(RequestError(wrapping: invalid) == RequestError(wrapping: invalid))
  }

}

extension RequestError.Kind {
  fileprivate static let graphQL = RequestError.Kind("GraphQL")
}
