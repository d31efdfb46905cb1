package import Foundation
package import HTTPClientCore
import MomentsService

extension HTTPResponse {
  /// The one message of a unary call's response (gRPC over HTTP/2, "Responses").
  ///
  /// Throws the call's status if that is a failure, and `badResponse` for what is no response of gRPC.
  package func grpcMessage() throws(RequestError) -> Data {
    // A response without a body may have its trailers in the head.
    let fields = trailers.isEmpty && body.isEmpty ? head.headers : trailers
    let status = fields["grpc-status"]
    if let status, status != "0" {
      let message = fields["grpc-message"] ?? ""
      // A code that does not exist counts as unknown, and a message that is not well encoded is taken as it is.
      throw RequestError(
        GRPCStatus(Int(status).flatMap { .init(rawValue: $0) } ?? .unknown, message.removingPercentEncoding ?? message))
    }
    guard head.status == 200 else { throw RequestError(GRPCStatus(httpStatus: head.status)) }
    guard ["application/grpc", "application/grpc+proto"].contains(head.mediaType) else {
      throw badResponse("is of the type '\(head.mediaType ?? "")', and not application/grpc: is the address right?")
    }
    guard status != nil else { throw badResponse("has no grpc-status: does the transport give trailers?") }
    return try onlyMessage()
  }

  /// The message in the body, behind a flag, whether it is compressed, and its size.
  private func onlyMessage() throws(RequestError) -> Data {
    let message = body.dropFirst(5)
    guard let flag = body.first, body.count >= 5 else { throw badResponse("has no message") }
    guard flag == 0 else {
      let coding = head.headers["grpc-encoding"].map { " by '\($0)'" } ?? ""
      throw badResponse(flag == 1 ? "has a message compressed\(coding), which was not asked for" : "has a flag \(flag)")
    }
    let size = body.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard message.count >= size else { throw badResponse("has a message that is cut off") }
    guard message.count == size else { throw badResponse("has more than one message") }
    return message
  }

  private func badResponse(_ predicate: String) -> RequestError {
    RequestError(.badResponse, "The response \(predicate).", status: head.status)
  }
}

extension GRPCStatus {
  /// What a response means that comes from something in front of the service (gRPC, "HTTP to gRPC Status Code Mapping").
  fileprivate init(httpStatus: Int) {
    let code: Code =
      switch httpStatus {
      case 400: .internalError
      case 401: .unauthenticated
      case 403: .permissionDenied
      case 404: .unimplemented
      case 429, 502, 503, 504: .unavailable
      default: .unknown
      }
    self.init(code, "The server responded with status \(httpStatus) of HTTP.")
  }
}
