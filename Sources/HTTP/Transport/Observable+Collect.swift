import Foundation
public import Streams

extension Observable where Element == HTTPResponsePart {
  /// Puts the parts of one answer together, up to a number of body bytes.
  ///
  /// Fails with `tooLarge`, and stops the exchange, at the first byte over the limit; with `badResponse` where the parts
  /// come without a head.
  public func collect(upTo limit: Int) -> Observable<HTTPResponse> {
    Observable<HTTPResponse>.deferred {
      let collector = ResponseCollector(limit: limit)
      let parts = self.compactMap { part -> HTTPResponse? in
        try collector.add(part)
        return nil
      }
      return parts.concat(.deferred { .just(try collector.finish()) })
    }
  }
}

/// Gathers the parts of one answer.
private final class ResponseCollector: Sendable {
  private let limit: Int
  private let response = Locked<HTTPResponse?>(nil)

  init(limit: Int) {
    self.limit = limit
  }

  func add(_ part: HTTPResponsePart) throws(RequestError) {
    let isWithinLimit = response.withLock { response in
      switch part {
      case .head(let head):
        response = HTTPResponse(head: head)
      case .body(let piece):
        guard piece.count <= limit - (response?.body.count ?? 0) else { return false }
        response?.body.append(piece)
      }
      return true
    }
    if !isWithinLimit {
      throw RequestError(.tooLarge, "The answer is larger than \(limit) bytes: ask for less, or raise the limit.")
    }
  }

  func finish() throws(RequestError) -> HTTPResponse {
    guard let response = response.withLock({ $0 }) else {
      throw RequestError(.badResponse, "The transport gave an answer without a head.")
    }
    return response
  }
}
