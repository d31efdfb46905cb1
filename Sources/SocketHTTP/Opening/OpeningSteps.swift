import HTTPClientCore
import Streams

/// When each step ended in which a connection was opened.
struct OpeningSteps {
  let start = Instant.now
  /// `nil` if no name was looked up.
  var lookedUp: Instant?
  var connected: Instant?
  /// `nil` without a proxy.
  var tunnelled: Instant?
  /// `nil` in clear text.
  var secured: Instant?

  /// How long each step took, and how long the connection has been open since.
  func times(at now: Instant) -> ConnectionOpeningTimes? {
    guard let connected else { return nil }
    return ConnectionOpeningTimes(
      lookUp: lookedUp.map { $0 - start }, connect: connected - (lookedUp ?? start),
      tunnel: tunnelled.map { $0 - connected }, tls: secured.map { $0 - (tunnelled ?? connected) },
      idle: now - (secured ?? tunnelled ?? connected))
  }
}
