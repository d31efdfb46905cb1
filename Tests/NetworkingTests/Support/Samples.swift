import Foundation
import HTTP
import JSON
import Networking
import NetworkingTesting
import Streams

/// A text that must be found nowhere.
let canary = "CANARY-6f1d2c3b4a596877"

func url(_ text: String) throws -> URL {
  guard let url = URL(string: text) else { throw URLError(.badURL) }
  return url
}

/// A client of a scripted transport.
func client(
  _ transport: ScriptedTransport = ScriptedTransport(), base: String = "http://127.0.0.1/api",
  interceptors: [any SessionInterceptor] = [], middlewares: [any HTTPMiddleware] = []
) throws -> APIClient {
  try APIClient(
    baseURL: url(base), transport: transport, middlewares: middlewares, interceptors: interceptors)
}

/// A session that carries anything, and gives the answer as it is.
struct Send<Parameters: Encodable & Sendable>: APISession {
  typealias ResponseType = HTTPResponse
  var path = "things"
  var headers = HTTPHeaders()
  var parameters: Parameters
  var bodyFormat = BodyFormat.json
  let responseParser = ResponseParser<HTTPResponse>.response
}

struct User: Codable, Hashable, Sendable {
  var id = 7
  var name = "Wei"
}

/// A REST session by its defaults.
struct GetUser: APISession {
  typealias ResponseType = User
  var id = "7"
  var path: String { "users/\(id.percentEncoded)" }
}

extension ScriptedTransport {
  /// Answers everything with a body.
  convenience init(always answer: ScriptedResponse) {
    self.init()
    always(.any, answer)
  }

  /// The one request that came.
  var onlyRequest: HTTPRequest? { requests.count == 1 ? requests[0] : nil }
}

extension HTTPRequest {
  var bodyText: String? { body.map { String(decoding: $0, as: UTF8.self) } }

  /// The body as any JSON.
  var bodyJSON: JSONValue? { body.flatMap { try? JSONDecoder().decode(JSONValue.self, from: $0) } }

  /// The query, as it is sent.
  var query: String? { url.query(percentEncoded: true) }

  /// The query's items, percent-decoded.
  var queryItems: [String: String] {
    let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $0 + "," + $1 }
  }
}

extension Observable {
  /// The error that comes in the place of a first element.
  var failure: RequestError? {
    get async {
      do {
        _ = try await value
        return nil
      } catch {
        return error as? RequestError
      }
    }
  }
}

/// All that printing and dumping a value shows of it.
func everythingShown(of value: Any) -> String {
  var text = "\(value) \(String(reflecting: value)) "
  dump(value, to: &text)
  return text
}
