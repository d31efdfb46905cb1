import Foundation
import Logging
import NIOCore

/// What the environment sets. A wrong value is an error that says so in one line, and never a usual value in its place.
struct Settings: Sendable {
  /// `BFF_URL`: the GraphQL endpoint.
  let backend: URL
  /// `HOST`: the address to listen on; only this machine's by default.
  let host: String
  /// `PORT`: the port to listen on; 0 for any, 8080 by default.
  let port: Int
  /// `STALE_TIME`: for how many seconds a timeline counts as fresh; 5 by default.
  let staleTime: Duration
  /// `CHECK_INTERVAL`: after how many seconds the backend has to accept a visitor's token again; 30 by default.
  let checkInterval: Duration
  /// `LOG_LEVEL`: `info` by default.
  let logLevel: Logger.Level

  /// Takes the environment's variables.
  init(_ environment: [String: String]) throws(SettingsError) {
    guard let text = environment["BFF_URL"], let url = URL(string: text), ["http", "https"].contains(url.scheme),
      url.host?.isEmpty == false
    else { throw SettingsError("BFF_URL is the URL of the GraphQL endpoint, such as http://127.0.0.1:4000/graphql.") }
    backend = url
    host = environment["HOST"] ?? "127.0.0.1"
    guard !host.isEmpty else { throw SettingsError("HOST is an address of this machine, such as 0.0.0.0.") }
    guard let port = Int(environment["PORT"] ?? "8080"), 0...65_535 ~= port else {
      throw SettingsError("PORT is a number from 0 to 65535.")
    }
    self.port = port
    staleTime = try Self.seconds(environment["STALE_TIME"] ?? "5", of: "STALE_TIME")
    checkInterval = try Self.seconds(environment["CHECK_INTERVAL"] ?? "30", of: "CHECK_INTERVAL")
    guard let level = Logger.Level(rawValue: environment["LOG_LEVEL"] ?? "info") else {
      throw SettingsError("LOG_LEVEL is one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    logLevel = level
  }

  private static func seconds(_ text: String, of name: String) throws(SettingsError) -> Duration {
    guard let seconds = Double(text), 0...31_536_000 ~= seconds else {
      throw SettingsError("\(name) is a number of seconds, up to a year.")
    }
    return .seconds(seconds)
  }
}

/// What is wrong with the settings, in one line.
struct SettingsError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  /// What an error says of the address that the settings name.
  init(cannotListen error: any Error, _ settings: Settings) {
    let reason =
      switch error {
      case let error as IOError: String(cString: strerror(error.errnoCode))
      case let error as SocketAddressError.UnknownHost: error.errorDescription
      default: "\(error)"
      }
    description = "\(settings.host):\(settings.port): \(reason). Set HOST or PORT to another one."
  }
}
