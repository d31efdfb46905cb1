import Foundation
import Hummingbird
import Networking
import Synchronization

import struct HTTP.RequestError

/// Who is signed in, by the cookie of their browser: in memory, so a restart signs all out.
final class Visitors: Sendable {
  static let cookie = "visitor"

  private let accounts = Mutex<[String: Account]>([:])

  /// Remembers an account, and returns the value of its cookie.
  func admit(_ account: Account) -> String {
    let name = UUID().uuidString
    accounts.withLock { $0[name] = account }
    return name
  }

  /// The account that a request comes from; throws 401 if nobody is signed in.
  func account(of request: Request) throws -> Account {
    guard let name = request.cookies[Self.cookie]?.value, let account = accounts.withLock({ $0[name] }) else {
      throw HTTPError(.unauthorized, message: "Sign in with POST /login?user=ID.")
    }
    return account
  }

  /// Runs work for an account. If the BFF refuses its token, the account is signed out, and the browser gets a 401.
  func checked<Result>(
    _ account: Account, by timelines: Timelines, _ work: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await refusals(work)
    } catch let error as HTTPError where error.status == .unauthorized {
      accounts.withLock { accounts in accounts = accounts.filter { $0.value != account } }
      try timelines.forget(account)
      throw error
    }
  }
}

/// Turns errors of the BFF into responses: what it refuses is refused, and an outage is a 502 or a 504.
func refusals<Result>(_ work: () async throws -> Result) async throws -> Result {
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
