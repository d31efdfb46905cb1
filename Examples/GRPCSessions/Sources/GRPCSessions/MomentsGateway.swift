public import GRPCCore
import Models
import MomentsService
public import Networking
import Streams

/// The other way round: a service of gRPC whose responses come from sessions, as those of a GraphQL backend.
///
///     let gateway = MomentsGateway(sessions.getMomentsByUserID, sessions.updateMomentLike)
///     try await GRPCServer(transport: transport, services: [gateway]).serve()
///
/// A caller that cancels, or whose deadline has passed, ends the request of the session; errors become a call's status.
public struct MomentsGateway: RegistrableRPCService {
  private let service: Service

  /// Responds with what sessions give.
  public init(
    _ getMoments: some GetMomentsByUserIDSessionType, _ updateLike: some UpdateMomentLikeSessionType
  ) {
    service = Service(getMoments: getMoments, updateLike: updateLike)
  }

  /// Registers the methods of the service.
  public func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
    service.registerMethods(with: &router)
  }
}

private struct Service: Moments_V1_MomentsService.ServiceProtocol {
  let getMoments: any GetMomentsByUserIDSessionType
  let updateLike: any UpdateMomentLikeSessionType

  func getMoments(
    request: ServerRequest<Moments_V1_GetMomentsRequest>, context: ServerContext
  ) async throws -> ServerResponse<Moments_V1_Timeline> {
    let userID = request.message.userID
    return try await respond { [getMoments] in getMoments.getMoments(userID: userID) }
  }

  func updateLike(
    request: ServerRequest<Moments_V1_UpdateLikeRequest>, context: ServerContext
  ) async throws -> ServerResponse<Moments_V1_Timeline> {
    let (message, key) = (request.message, request.metadata[stringValues: "idempotency-key"].first { _ in true })
    return try await respond { [updateLike] in
      guard let key else {
        return updateLike.updateLike(message.isLiked, momentID: message.momentID, fromUserID: message.userID)
      }
      return updateLike.updateLike(
        message.isLiked, momentID: message.momentID, fromUserID: message.userID, idempotencyKey: key)
    }
  }
}

/// The response of a session; what cancels the call, such as its deadline, cancels the session's request.
private func respond(
  _ session: @escaping @Sendable () -> Observable<MomentsDetails>
) async throws -> ServerResponse<Moments_V1_Timeline> {
  let request = Task { try await session().value }
  do {
    let details = try await withRPCCancellationHandler {
      try await request.value
    } onCancelRPC: {
      request.cancel()
    }
    return ServerResponse(message: try Moments_V1_Timeline(details))
  } catch {
    throw RPCError(request: error)
  }
}
