import AsyncHTTPClient
import Foundation
import HTTP
import NIOFoundationCompat
import NIOHTTP1

extension HTTPClient.Request {
  /// The request for the client. Throws if a header would frame the message, which is the client's task.
  init(_ request: HTTPRequest) throws {
    try request.checkFraming()
    var headers = NIOHTTP1.HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    try self.init(
      url: request.url, method: HTTPMethod(rawValue: request.method.rawValue), headers: headers,
      body: request.body.map { .data($0) })
  }
}
