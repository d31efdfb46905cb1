/// The names of OpenTelemetry's semantic conventions for HTTP clients and GraphQL, and, below `graphql.client`, those for
/// what they have none for.
package enum Name {
  package static let operationName = "graphql.operation.name"
  package static let operationType = "graphql.operation.type"
  package static let method = "http.request.method"
  package static let status = "http.response.status_code"
  package static let resendCount = "http.request.resend_count"
  package static let requestSize = "http.request.body.size"
  package static let responseSize = "http.response.body.size"
  package static let httpVersion = "network.protocol.version"
  package static let serverAddress = "server.address"
  package static let serverPort = "server.port"
  package static let scheme = "url.scheme"
  package static let url = "url.full"
  package static let errorType = "error.type"

  package static let attempts = "graphql.client.attempts"
  package static let queueDuration = "graphql.client.queue.duration"
  package static let isConnectionReused = "graphql.client.connection.reused"
  package static let delay = "graphql.client.retry.delay"
  package static let duration = "duration"

  /// What stands for values that are not distinguished.
  package static let other = "_OTHER"
}
