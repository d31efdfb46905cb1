import AsyncHTTPClient
import Foundation
import HTTPClientCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension RequestError {
  /// Maps errors of the client, and of SwiftNIO below it.
  init(asyncHTTPClient error: any Error) {
    if let error = error as? RequestError {
      self = error
      return
    }
    let kind: Kind =
      switch error {
      case let error as HTTPClientError: Kind(error)
      case HTTPParserError.invalidEOFState: .connectionLost
      case is HTTPParserError, is NIOHTTPDecoderError: .badResponse
      case is NIOConnectionError: .cannotConnect
      case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .insecure
      case let error as IOError where Self.connectFailures.contains(error.errnoCode): .cannotConnect
      case is IOError, is ChannelError, is ClosedBeforeRequest: .connectionLost
      default: .unknown
      }
    self.init(kind, "\(error)", cause: error)
  }

  private static let connectFailures = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL]
}

extension RequestError.Kind {
  fileprivate init(_ error: HTTPClientError) {
    self =
      switch error {
      case .remoteConnectionClosed, .uncleanShutdown: .connectionLost
      case .connectTimeout, .tlsHandshakeTimeout, .readTimeout, .deadlineExceeded: .timedOut
      case .cancelled: .cancelled
      case .invalidURL, .emptyHost, .emptyScheme: .invalidRequest
      default: .unknown
      }
  }
}
