import HTTPClientCore
import SystemBase

/// Writes a request's head (RFC 9112, section 3).
struct RequestWriter {
  /// The form of the target in the request line (RFC 9112, section 3.2).
  enum TargetForm: Hashable {
    /// The path and the query, for the server itself.
    case origin
    /// The whole URL, for a proxy.
    case absolute
  }

  var form = TargetForm.origin

  /// The value of `Proxy-Authorization`, for a proxy; the server does not get it.
  var proxyAuthorization: String?

  /// Fields that are added unless the request already has one with that name.
  var defaults: [(name: String, value: String)] = []

  /// The bytes of the head of a request that is writable, with room for `count` more.
  func head(of request: HTTPRequest, reserving count: Int = 0) -> [UInt8] {
    let (target, headers) = (request.target, request.headers)
    let lengthField = request.announcedCount.map { String($0) }

    return [UInt8](unsafeUninitializedCapacity: capacity(for: request) + count) { buffer, count in
      var text = TextBuffer(buffer)
      text.write(request.method.rawValue)
      text.write(" ")
      if form == .absolute {
        text.write("http://")
        text.write(target.authority)
      }
      text.write(target.path)
      text.write(" HTTP/1.1\r\n")
      if !headers.contains("Host") { text.write(name: "Host", value: target.authority) }
      for index in headers.indices { text.write(name: headers[index].name, value: headers[index].value) }
      for field in defaults where !headers.contains(field.name) { text.write(name: field.name, value: field.value) }
      // RFC 9110, section 10.1.4.
      if headers.contains("TE") { text.write(name: "Connection", value: "TE") }
      if let proxyAuthorization { text.write(name: "Proxy-Authorization", value: proxyAuthorization) }
      if let lengthField { text.write(name: "Content-Length", value: lengthField) }
      if request.bodyCount == nil { text.write(name: "Transfer-Encoding", value: "chunked") }
      text.write("\r\n")
      count = text.count
    }
  }

  /// An upper limit for the length of the head.
  private func capacity(for request: HTTPRequest) -> Int {
    // The constant part: the version, the names of our own fields, a length of 20 digits, line endings.
    var capacity = 128 + request.method.rawValue.utf8.count + request.target.path.utf8.count
    capacity += 2 * request.target.authority.utf8.count + (proxyAuthorization?.utf8.count ?? 0)
    let headers = request.headers
    for index in headers.indices { capacity += headers[index].name.utf8.count + headers[index].value.utf8.count + 4 }
    for field in defaults { capacity += field.name.utf8.count + field.value.utf8.count + 4 }
    return capacity
  }

  /// The head of a request that asks a proxy for a tunnel (RFC 9110, section 9.3.6).
  func connectHead(toHost host: String, port: Int) -> [UInt8] {
    // The zone of an address means something only on this machine (RFC 6874, section 4).
    let authority = "\(host.contains(":") ? "[\(host.prefix { $0 != "%" })]" : host):\(port)"
    let authorization = proxyAuthorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
    return Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(authorization)\r\n".utf8)
  }
}

extension HTTPRequest {
  /// Throws `invalidRequest` if it cannot be written, in any version of HTTP: if its headers frame the message, or name two
  /// hosts.
  func checkWritable() throws(RequestError) {
    try checkFields(sendsUploads: true)
    if let host = headers.firstIndex(of: "Host", from: 0), headers.firstIndex(of: "Host", from: host + 1) != nil {
      throw RequestError(.invalidRequest, "The request has more than one header 'Host'.")
    }
  }
}

extension RequestWriter {
  /// Writes the head of an exchange's request as its route requires.
  init(for exchange: SocketExchange) {
    self.init(
      form: exchange.forwarder == nil ? .origin : .absolute, proxyAuthorization: exchange.forwarder?.authorization,
      defaults: exchange.defaults)
  }
}
