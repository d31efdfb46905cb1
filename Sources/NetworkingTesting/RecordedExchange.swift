public import HTTP
import Platform

/// A request and its response, in a form that a file can hold.
///
/// Header values that may be secret are left out. URL and bodies are kept unchanged, since requests are matched by
/// them: check a file before you share it, or record with throwaway credentials.
public struct RecordedExchange: Codable, Hashable, Sendable {
  /// One header field of the response.
  public struct Field: Codable, Hashable, Sendable {
    /// The name as it was sent.
    public let name: String
    /// The value, or `<redacted>` if it may be secret.
    public let value: String
  }

  /// The operation, if the request named one.
  public let operationName: String?
  /// The method.
  public let method: String
  /// The whole URL.
  public let url: String
  /// The request's body.
  public let requestBody: RecordedBody
  /// The response's status.
  public let status: Int
  /// The response's header fields.
  public let headers: [Field]
  /// The response's body.
  public let body: RecordedBody

  /// Takes an exchange that has taken place.
  public init(_ request: HTTPRequest, _ response: HTTPResponse) {
    operationName = request.operationName
    method = request.method.rawValue
    url = request.url.absoluteString
    requestBody = RecordedBody(request.body ?? Data())
    status = response.head.status
    headers = response.head.headers.map {
      Field(name: $0.name, value: $0.isPublic ? $0.value : Redactor.placeholder)
    }
    body = RecordedBody(response.body)
  }

  /// The response as a transport gives it. Throws `invalidRequest` if the record has a header that no server can send.
  public func response() throws(RequestError) -> HTTPResponse {
    var fields: [HTTPField] = []
    for field in headers {
      guard field.name.isToken, field.value.utf8.allSatisfy(\.isFieldByte) else {
        throw RequestError(.invalidRequest, "A header of the recorded response is not valid: \(field.name)")
      }
      fields.append(HTTPField(received: field.name, value: field.value))
    }
    return HTTPResponse(status: status, headers: HTTPHeaders(fields), body: body.data)
  }

  /// Whether a request equals the recorded one in method, URL and body.
  public func matches(_ request: HTTPRequest) -> Bool {
    method == request.method.rawValue && url == request.url.absoluteString
      && requestBody.data == request.body ?? Data()
  }
}
