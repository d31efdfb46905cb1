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

  /// The head's bytes. Throws `invalidRequest` where the request frames itself, or would not stay in its line.
  func head(of request: HTTPRequest) throws(RequestError) -> [UInt8] {
    try request.checkFraming()
    var text = ""
    text.reserveCapacity(512)
    text += request.method.rawValue
    text += " "
    text += try target(of: request)
    text += " HTTP/1.1\r\n"
    switch request.headers.values(of: "Host").count {
    case 0: text += "Host: \(request.url.authorityForHTTP)\r\n"
    case 1: break
    default: throw RequestError(.invalidRequest, "The request has more than one header 'Host'.")
    }
    for field in request.headers {
      text += field.name
      text += ": "
      text += field.value
      text += "\r\n"
    }
    for field in defaults where !request.headers.contains(field.name) { text += "\(field.name): \(field.value)\r\n" }
    if let proxyAuthorization { text += "Proxy-Authorization: \(proxyAuthorization)\r\n" }
    // RFC 9110, section 8.6: a length of 0 is said where the method expects a body.
    if request.body?.isEmpty == false || ["POST", "PUT", "PATCH"].contains(request.method.rawValue) {
      text += "Content-Length: \(request.body?.count ?? 0)\r\n"
    }
    text += "\r\n"
    return Array(text.utf8)
  }

  /// The head of a request to a proxy for a tunnel (RFC 9110, section 9.3.6).
  func connectHead(toHost host: String, port: Int) -> [UInt8] {
    let authority = "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    let authorization = proxyAuthorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
    return Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(authorization)\r\n".utf8)
  }

  private func target(of request: HTTPRequest) throws(RequestError) -> String {
    let path = request.url.path(percentEncoded: true)
    let query = request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
    let prefix = form == .absolute ? "http://\(request.url.authorityForHTTP)" : ""
    let target = prefix + (path.isEmpty ? "/" : path) + query
    guard target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw RequestError(
        .invalidRequest, "The path of '\(request.url.shownSafely)' is not percent-encoded.")
    }
    return target
  }
}

extension URL {
  /// The host without the brackets of an IPv6 address, and in lower case.
  var hostForHTTP: String {
    let host = (host(percentEncoded: true) ?? "").lowercased()
    return host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// Host and, unless it is the scheme's own, port, as the field `Host` has them (RFC 9110, section 7.2).
  var authorityForHTTP: String {
    let host = hostForHTTP.contains(":") ? "[\(hostForHTTP)]" : hostForHTTP
    guard let port, port != (scheme?.lowercased() == "https" ? 443 : 80) else { return host }
    return "\(host):\(port)"
  }
}
