// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import HTTPClientCore
import Streams

enum HTTPArticle {
  struct RequestID: HTTPMiddleware {
    func intercept(
      _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
    ) -> Observable<HTTPResponsePart> {
      .deferred {
        var request = request
        try request.headers.set("X-Request-ID", to: UUID().uuidString)
        return next(request)
      }
    }
  }

  static func response(from url: URL, over transport: some HTTPTransport) async throws -> HTTPResponse {
    let request = try HTTPRequest(method: .get, url: url)
    let response = try await transport.send(request).collect(upTo: 1 << 20).value
    return response
  }

  static func tell(_ observer: some RequestObserver, about url: URL) throws {
    var request = try HTTPRequest(method: .get, url: url)
    let tell = observer.begin(&request)
    tell(.attemptStarted(1))
    tell(.attemptEnded(AttemptSummary(outcome: .succeeded, status: 503, duration: .seconds(1))))
    tell(.ended(RequestSummary(outcome: .succeeded, status: 503, duration: .seconds(1))))
  }
}
