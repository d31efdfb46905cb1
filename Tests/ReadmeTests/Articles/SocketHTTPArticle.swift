import Foundation
import HTTPClientCore
import SocketHTTP
import Streams

/// The samples of the articles of SocketHTTP.
enum SocketHTTPArticle {
  static func response(from url: URL) async throws -> HTTPResponse {
    let transport = SocketTransport()
    let request = try HTTPRequest(method: .get, url: url)
    let response = try await transport.send(request).collect(upTo: 1 << 20).value
    return response
  }

  static func talk(to url: URL) throws -> any Disposable {
    let request = try WebSocketRequest(url: url, subprotocols: ["chat"])
    let subscription = SocketTransport().connect(request).subscribe(
      onNext: { event in
        switch event {
        case .opened(let connection): try? connection.send("hello")
        case .message(.text(let text)): print("text: \(text)")
        case .message(.binary(let data)): print("\(data.count) bytes")
        case .pong: break
        case .closed(let closure): print("closed with \(closure.code)")
        }
      },
      onError: { error in print(error) })
    return subscription
  }
}
