import Foundation
package import HTTPClientCore
package import Streams
package import StrictJSON
import TestSupport

/// A server that a test answers for, request by request, behind a client.
package final class QuietServer: HTTPTransport {
  package struct Request: Sendable {
    package let request: HTTPRequest
    package let observer: AnyObserver<HTTPResponsePart>
    package let isCancelled: Mutable<Bool>

    /// The name of the operation.
    package var name: String { request.operationName ?? "" }

    /// A part of what was sent.
    package subscript(name: String) -> JSONValue? {
      guard let body = request.body, case .object(let members)? = try? JSONValue(json: body.bytes) else { return nil }
      return members[name]
    }

    /// The document that was sent.
    package var document: String { self["query"]?.stringValue ?? "" }

    package func answer(_ json: String, status: Int = 200) {
      let response = HTTPResponse(
        status: status, headers: ["Content-Type": "application/json"], body: Data(json.utf8))
      for part in response.parts { observer.onNext(part) }
      observer.onCompleted()
    }

    /// Answers with data.
    package func data(_ json: String) { answer("{\"data\": \(json)}") }

    package func fail() { observer.onError(RequestError(.connectionLost, "gone")) }
  }

  package init() {}

  package let requests = Mutable<[Request]>([])
  private let arrived = Monitor(0)

  package func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .create { observer in
      let request = Request(request: request, observer: observer, isCancelled: Mutable(false))
      self.requests.update { $0.append(request) }
      self.arrived.update { $0 += 1 }
      return Disposables.create { request.isCancelled.update { $0 = true } }
    }
  }

  package var count: Int { requests.value.count }

  /// Waits until so many requests have come.
  package func wait(for count: Int) async throws { try await arrived.wait { $0 >= count } }

  /// The latest request.
  package var last: Request { requests.value[count - 1] }

  package subscript(index: Int) -> Request { requests.value[index] }
}
