import Foundation
package import GraphQLClient
package import GraphQLClientTesting
package import HTTPClientCore
import HTTPTestSupport
import Streams
package import StrictJSON

/// A client of a scripted transport.
package func client(
  _ transport: ScriptedTransport = ScriptedTransport(), base: String = "http://127.0.0.1/api",
  interceptors: [any SessionInterceptor] = [], middlewares: [any HTTPMiddleware] = []
) throws -> APIClient {
  try APIClient(
    baseURL: url(base), transport: transport, middlewares: middlewares, interceptors: interceptors)
}

/// A session that carries anything, and gives the answer as it is.
package struct Send<Parameters: Encodable & Sendable>: APISession {
  package typealias ResponseType = HTTPResponse
  package var path = "things"
  package var headers = HTTPHeaders()
  package var parameters: Parameters
  package var bodyFormat = BodyFormat.json
  package let responseParser = ResponseParser<HTTPResponse>.response

  package init(
    path: String = "things", headers: HTTPHeaders = HTTPHeaders(), parameters: Parameters,
    bodyFormat: BodyFormat = .json
  ) {
    (self.path, self.headers, self.parameters, self.bodyFormat) = (path, headers, parameters, bodyFormat)
  }
}

package struct User: Codable, Hashable, Sendable {
  package var id = 7
  package var name = "Wei"

  package init(id: Int = 7, name: String = "Wei") { (self.id, self.name) = (id, name) }
}

/// A REST session by its defaults.
package struct GetUser: APISession {
  package typealias ResponseType = User
  package var id = "7"
  package var path: String { "users/\(id.percentEncoded)" }

  package init(id: String = "7") { self.id = id }
}

extension ScriptedTransport {
  /// Answers everything with a body.
  package convenience init(always answer: ScriptedResponse) {
    self.init()
    always(.any, answer)
  }

  /// The one request that came.
  package var onlyRequest: HTTPRequest? { requests.count == 1 ? requests[0] : nil }
}

extension HTTPRequest {
  package var bodyText: String? { body.map { String(decoding: $0, as: UTF8.self) } }

  /// The body as any JSON.
  package var bodyJSON: JSONValue? { body.flatMap { try? JSONDecoder().decode(JSONValue.self, from: $0) } }

  /// The query, as it is sent.
  package var query: String? { url.query(percentEncoded: true) }

  /// The query's items, percent-decoded.
  package var queryItems: [String: String] {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $0 + "," + $1 }
  }
}
