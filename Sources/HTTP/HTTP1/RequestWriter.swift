import Foundation

/// Writes a request's head (RFC 9112, section 3).
struct RequestWriter {
  /// How the first line names what is asked for (RFC 9112, section 3.2).
  enum TargetForm: Hashable {
    /// The path and the query, for the server itself.
    case origin
    /// The whole URL, for a proxy.
    case absolute
  }

  /// Fields for a proxy, which the server does not get to see.
  var form = TargetForm.origin
  var proxyAuthorization: String?

  /// Fields that are added unless the request has some of the name.
  var defaults: [(name: String, value: String)] = []

  /// The head's bytes, with room for so many more. Throws `invalidRequest` where the request frames itself.
  func head(of request: HTTPRequest, reserving count: Int = 0) throws(RequestError) -> [UInt8] {
    try request.checkFraming()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(512 + count)
    bytes.append(request.method.rawValue)
    bytes.append(form == .absolute ? " http://\(request.target.authority)" : " ")
    bytes.append(request.target.path)
    bytes.append(" HTTP/1.1\r\n")
    let headers = request.headers
    if let host = headers.firstIndex(of: "Host", from: 0) {
      guard headers.firstIndex(of: "Host", from: host + 1) == nil else {
        throw RequestError(.invalidRequest, "The request has more than one header 'Host'.")
      }
    } else {
      bytes.append("Host", request.target.authority)
    }
    for index in headers.indices { bytes.append(headers[index].name, headers[index].value) }
    for field in defaults where !headers.contains(field.name) { bytes.append(field.name, field.value) }
    if let proxyAuthorization { bytes.append("Proxy-Authorization", proxyAuthorization) }
    // RFC 9110, section 8.6: a length of 0 is said where the method expects a body.
    let length = request.body?.count ?? 0
    if length > 0 || request.method.expectsBody { bytes.append("Content-Length", String(length)) }
    bytes.append("\r\n")
    return bytes
  }

  /// The head of a request to a proxy for a tunnel (RFC 9110, section 9.3.6).
  func connectHead(toHost host: String, port: Int) -> [UInt8] {
    let authority = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    let authorization = proxyAuthorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
    return Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(authorization)\r\n".utf8)
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ name: String, _ value: String) {
    append(name)
    append(": ")
    append(value)
    append("\r\n")
  }

  fileprivate mutating func append(_ text: String) {
    // Not `withUTF8`, which wants a copy of the text that it may change.
    if text.utf8.withContiguousStorageIfAvailable({ append(contentsOf: $0) }) == nil { append(contentsOf: text.utf8) }
  }
}

extension HTTPMethod {
  fileprivate var expectsBody: Bool { self == .post || self == .put || self == .patch }
}
