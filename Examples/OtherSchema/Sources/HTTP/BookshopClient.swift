public import Foundation
public import GraphQLClient
public import HTTPClientCore

extension APIClient {
  /// A client of the bookshop at a URL.
  public static func bookshop(
    at url: URL, transport: some HTTPTransport, version: String = "1.0"
  ) throws -> APIClient {
    try APIClient(
      baseURL: url, transport: transport, defaultHeaders: .userAgent(name: "Bookshop", version: version))
  }
}
