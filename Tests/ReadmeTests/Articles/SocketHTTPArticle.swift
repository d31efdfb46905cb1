import Foundation
import HTTP
import SocketHTTP
import Streams

/// The samples of the article of SocketHTTP.
enum SocketHTTPArticle {
  static func response(from url: URL) async throws -> HTTPResponse {
    let transport = SocketTransport()
    let request = try HTTPRequest(method: .get, url: url)
    let response = try await transport.send(request).collect(upTo: 1 << 20).value
    return response
  }
}
