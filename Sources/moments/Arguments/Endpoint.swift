import Foundation
import HTTP

/// The URL of a GraphQL endpoint.
struct Endpoint: Equatable, Sendable {
  /// The environment variable that is read if `--endpoint` is not given.
  static let variable = "MOMENTS_ENDPOINT"

  let url: URL
  private let isConfidential: Bool
  private let source: String

  /// Takes an absolute `https` or `http` URL.
  ///
  /// - Parameter source: Where the text comes from, for the error; the text itself may contain a secret, and is not
  ///   shown.
  init(_ text: String, from source: String) throws(UsageError) {
    // Foundation would repair text that is not a URL by RFC 3986, percent-encode its host, and drop a port that is out
    // of range.
    guard
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let parts = URLComponents(string: text, encodingInvalidCharacters: false),
      let url = parts.url, parts.rangeOfHost.map({ !text[$0].contains("%") }) ?? false,
      parts.port != nil || parts.rangeOfPort.map({ text[$0].isEmpty }) ?? true
    else {
      throw UsageError("\(source) is no http or https URL; write it like https://api.example.com/graphql")
    }
    guard parts.user == nil, parts.password == nil else {
      throw UsageError("\(source) holds a user or a password; take it out and set \(BearerToken.variable) instead")
    }
    do throws(RequestError) {
      isConfidential = try HTTPRequest(method: .post, url: url).isConfidential
    } catch {
      throw UsageError("\(source): \(error.message)")
    }
    self.url = url
    self.source = source
  }

  /// Throws if requests would go to another machine in clear text.
  func checkCleartext() throws(UsageError) {
    guard isConfidential else {
      let host = url.host() ?? ""
      throw UsageError("\(source) would send everything in clear text to '\(host)'; use https, or --allow-cleartext")
    }
  }
}
