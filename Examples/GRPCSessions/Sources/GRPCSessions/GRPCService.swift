public import GRPCCore
import HTTPClientCore
import Models
import MomentsService
import Streams

/// The service that sessions call: a client of gRPC, and how long a call may take. Whoever makes the client runs it, with
/// `runConnections()`, and shuts it down.
public struct GRPCService: Sendable {
  private let client: any Moments_V1_MomentsService.ClientProtocol
  private let timeout: Duration

  /// Calls a service through a client with any transport; `timeout` is the deadline of a call, which the server gets, too.
  public init(_ client: GRPCClient<some ClientTransport>, timeout: Duration = .seconds(60)) {
    self.client = Moments_V1_MomentsService.Client(wrapping: client)
    self.timeout = timeout
  }

  /// A cold stream of one call's response; disposing cancels the call. Its errors are `RequestError`s.
  func call(
    _ name: String,
    _ body:
      @escaping @Sendable (any Moments_V1_MomentsService.ClientProtocol, CallOptions) async throws ->
      Moments_V1_Timeline
  ) -> Observable<MomentsDetails> {
    .async { [client, timeout] in
      var options = CallOptions.defaults
      options.timeout = timeout
      do {
        return try MomentsDetails(await body(client, options))
      } catch {
        throw RequestError(gRPC: error).named(name)
      }
    }
  }
}
