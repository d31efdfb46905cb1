import Foundation
public import HTTP

extension APISession {
  /// The standard request.
  public func makeRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest {
    try standardRequest(method, for: client)
  }

  /// The request for this session's path, headers and parameters, which are in the query for `GET`, `HEAD` and
  /// `DELETE`, and in the body for the other methods.
  public func standardRequest(_ method: HTTPMethod, for client: APIClient) throws -> HTTPRequest {
    var headers = try headers
    var target = try client.target(forPath: path)
    var body: Data?
    if !(parameters is NoParameters) {
      if [.get, .head, .delete].contains(method) {
        target = try target.adding(query: QueryEncoder.pairs(of: parameters, by: client.encoder))
      } else {
        let (data, contentType) = try bodyFormat.encode(parameters, client.encoder)
        body = data
        if !headers.contains("Content-Type") { try headers.set("Content-Type", to: contentType) }
      }
    } else if [.post, .put, .patch].contains(method) {
      body = Data()
    }
    if !headers.contains("Accept") { try headers.set("Accept", to: responseParser.accept) }
    return HTTPRequest(
      method: method, target: target, headers: headers, body: body, timeouts: client.timeouts,
      operationName: operationName, isReplayable: isReplayable(with: method))
  }
}

extension HTTPTarget {
  /// The target with more pairs in its query.
  func adding(query pairs: [(name: String, value: String)]) throws(RequestError) -> HTTPTarget {
    pairs.isEmpty ? self : try HTTPTarget(url.adding(query: pairs))
  }
}

extension URL {
  /// The URL with more pairs in its query.
  fileprivate func adding(query pairs: [(name: String, value: String)]) throws(RequestError) -> URL {
    guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
      throw RequestError(.invalidRequest, "'\(shownSafely)' cannot take a query.")
    }
    let query = QueryEncoder.text(of: pairs)
    let present = components.percentEncodedQuery ?? ""
    components.percentEncodedQuery = present.isEmpty ? query : "\(present)&\(query)"
    guard let url = components.url else {
      throw RequestError(.invalidRequest, "'\(shownSafely)' cannot take a query.")
    }
    return url
  }
}

extension String {
  /// The text with all but the unreserved characters (RFC 3986, section 2.3) percent-encoded: fit to be one segment of
  /// a path, unless it is `.` or `..`, or a name or value in a query.
  public var percentEncoded: String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(utf8.count)
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.append(byte)
      default:
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
