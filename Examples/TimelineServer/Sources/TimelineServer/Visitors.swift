import Foundation
import GraphQLClient
import Hummingbird
import Stores
import Synchronization

import struct HTTPClientCore.RequestError

/// Who is signed in, by the cookies of the browser, one for each user: in memory, so a restart signs all out, and so does
/// it the one who was not heard for longest, when they are too many.
final class Visitors: Sendable {
  private struct Entry {
    let visitor: Visitor
    /// When the BFF has last accepted the visitor's token.
    var checkedAt: ContinuousClock.Instant
  }

  private let checkInterval: Duration
  private let maximumCount: Int
  private let entries = Mutex<[String: Entry]>([:])

  /// - Parameters:
  ///   - checkInterval: For how long a visitor may be served from the cache alone. The devices of a user
  ///     share it, so a token that was revoked would else be good for as long as another device's is.
  ///   - maximumCount: The greatest number of visitors.
  init(checkInterval: Duration, maximumCount: Int = 10_000) {
    (self.checkInterval, self.maximumCount) = (checkInterval, maximumCount)
  }

  /// Remembers a visitor, and returns the cookie.
  func admit(_ visitor: Visitor) -> Cookie {
    let value = UUID().uuidString
    entries.withLock { entries in
      if entries.count >= maximumCount, let oldest = entries.min(by: { $0.value.checkedAt < $1.value.checkedAt }) {
        entries[oldest.key] = nil
      }
      entries[value] = Entry(visitor: visitor, checkedAt: .now)
    }
    return Cookie(
      name: Self.cookieName(of: visitor.userID), value: value, path: "/", httpOnly: true, sameSite: .lax)
  }

  private static func cookieName(of userID: String) -> String { "visitor-\(userID.percentEncoded)" }

  /// The visitor whom a request is from. Two tabs of a browser may have two users, of whom `as` in the query names one.
  private func entry(of request: Request) -> (cookie: String, Entry)? {
    let prefix = request.uri.queryParameters.get("as").map { Self.cookieName(of: $0) + "=" } ?? "visitor-"
    let values = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { cookie -> String? in
      let cookie = cookie.trimmingCharacters(in: .whitespaces)
      guard cookie.hasPrefix(prefix), let start = cookie.firstIndex(of: "=") else { return nil }
      return String(cookie[start...].dropFirst())
    }
    return entries.withLock { entries in
      values.first { entries[$0] != nil }.flatMap { value in entries[value].map { (value, $0) } }
    }
  }

  /// Has the next request of a request's visitor ask the BFF, which may no longer accept the token.
  func recheck(_ request: Request) {
    guard let cookie = entry(of: request)?.cookie else { return }
    entries.withLock { $0[cookie]?.checkedAt = .now - checkInterval }
  }

  /// Runs work for the visitor that a request comes from, with the policy of its reads. If the BFF refuses the token, the
  /// visitor is signed out; while it is away, it cannot, and the visitor gets what is cached. Throws errors that are
  /// responses, such as 401 if nobody is signed in.
  func serve<Result>(
    _ request: Request, _ work: (Visitor, FetchPolicy) async throws -> Result
  ) async throws -> Result {
    guard let (cookie, entry) = entry(of: request) else {
      throw HTTPError(.unauthorized, message: "Sign in with POST /login?user=ID.")
    }
    let isDue = ContinuousClock.now - entry.checkedAt >= checkInterval
    do {
      let result = try await withRefusals {
        try await work(entry.visitor, isDue ? .networkFirst : .staleWhileRevalidate)
      }
      if isDue { entries.withLock { $0[cookie]?.checkedAt = .now } }
      return result
    } catch let error as HTTPError where error.status == .unauthorized {
      entries.withLock { $0[cookie] = nil }
      throw error
    }
  }
}

/// Turns errors of the BFF into responses: what it refuses is refused, and an outage is a 502 or a 504.
func withRefusals<Result>(_ work: () async throws -> Result) async throws -> Result {
  do {
    return try await work()
  } catch let error as RequestError {
    let status: HTTPResponse.Status =
      if error.isUnauthenticated {
        .unauthorized
      } else if error.isForbidden {
        .forbidden
      } else {
        switch error.kind {
        case .graphQL: .notFound
        case .timedOut: .gatewayTimeout
        case .overloaded, .circuitOpen: .serviceUnavailable
        default: .badGateway
        }
      }
    throw HTTPError(status, message: error.message)
  }
}
