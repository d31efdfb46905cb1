import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCOverHTTP2
import GRPCSessions
import HTTPClientCore
import Models
import Networking
import SocketHTTP
import Streams
import Testing

/// What is behind the gateway: a closure in the place of a GraphQL backend.
struct Backend: GetMomentsByUserIDSessionType, UpdateMomentLikeSessionType {
  enum Call: Equatable {
    case getMoments(String)
    case updateLike(Bool, String, String, String?)
  }

  let respond: @Sendable (Call) -> Observable<MomentsDetails>

  init(_ respond: @escaping @Sendable (Call) -> Observable<MomentsDetails>) {
    self.respond = respond
  }

  func getMoments(userID: String) -> Observable<MomentsDetails> { respond(.getMoments(userID)) }

  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    respond(.updateLike(isLiked, momentID, fromUserID, nil))
  }

  func updateLike(
    _ isLiked: Bool, momentID: String, fromUserID: String, idempotencyKey: String
  ) -> Observable<MomentsDetails> {
    respond(.updateLike(isLiked, momentID, fromUserID, idempotencyKey))
  }
}

/// The ways of a call to the service.
enum Way: CaseIterable {
  /// By grpc-swift.
  case library
  /// By the SDK's own transport.
  case transport
}

/// The sessions of one way.
struct Sessions {
  let getMoments: any GetMomentsByUserIDSessionType
  let updateLike: any UpdateMomentLikeSessionType
}

/// Runs a server of the gateway on 127.0.0.1, and a client of it.
func withService<Result: Sendable>(
  _ way: Way, _ backend: Backend, timeout: Duration = .seconds(60),
  _ body: @Sendable @escaping (Sessions, _ port: Int) async throws -> Result
) async throws -> Result {
  let transport = HTTP2ServerTransport.Posix(
    address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
  return try await withGRPCServer(transport: transport, services: [MomentsGateway(backend, backend)]) { server in
    let port = try await server.listeningAddress?.ipv4?.port ?? 0
    return try await withClient(way, port: port, timeout: timeout) { try await body($0, port) }
  }
}

/// Runs a client of a server on 127.0.0.1.
func withClient<Result: Sendable>(
  _ way: Way, port: Int, timeout: Duration = .seconds(60), _ body: @Sendable @escaping (Sessions) async throws -> Result
) async throws -> Result {
  switch way {
  case .library:
    let transport = try HTTP2ClientTransport.Posix(
      target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
    return try await withGRPCClient(transport: transport) { client in
      let service = GRPCService(client, timeout: timeout)
      return try await body(
        Sessions(
          getMoments: GetMomentsByUserIDSessionGRPC(service), updateLike: UpdateMomentLikeSessionGRPC(service)))
    }
  case .transport:
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configuration.proxy = .none
    let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
    let service = UnaryService(SocketTransport(configuration: configuration), url: url, timeout: timeout)
    return try await body(
      Sessions(
        getMoments: GetMomentsByUserIDSessionHTTP2(service), updateLike: UpdateMomentLikeSessionHTTP2(service)))
  }
}
