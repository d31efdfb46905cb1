import Foundation

/// What the command line says: `soak-member NUMBER REDIS-PORT GATEWAY-PORT FOLDER PAUSE`.
struct Settings: Sendable {
  /// The process's number in the fleet; it stays the same when it is started again.
  let number: Int
  let redisPort: Int
  let gateway: URL
  /// Where the outboxes are.
  let folder: URL
  /// Between two operations of a worker.
  let pause: Duration

  static let accounts = (0..<6).map { "a\($0)" }
  static let notes = (0..<8).map { "n\($0)" }
  static let workers = 4

  /// What a request may take, with all its attempts.
  static let deadline = Duration.seconds(2)
  static let lease = Duration.seconds(1)
  /// What any operation may take. A read waits for the leases of others, at most for ten, before it makes a request of its
  /// own; an entry of an outbox may wait for one attempt of each that is before it, until the outbox pauses.
  static let limit = lease * 10 + deadline

  init?(_ words: [String]) {
    guard words.count == 5, let number = Int(words[0]), number >= 0, let redisPort = Int(words[1]),
      let gatewayPort = Int(words[2]), [redisPort, gatewayPort].allSatisfy({ 1...65_535 ~= $0 }),
      let pause = Int(words[4]), pause >= 0, let gateway = URL(string: "http://127.0.0.1:\(gatewayPort)/graphql")
    else { return nil }
    (self.number, self.redisPort, self.gateway) = (number, redisPort, gateway)
    folder = URL(filePath: words[3])
    self.pause = .milliseconds(pause)
  }
}
