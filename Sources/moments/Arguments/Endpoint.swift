import Foundation
import HTTP

/// The address of a GraphQL endpoint that the command may talk to.
struct Endpoint: Equatable, Sendable {
  /// The variable of the environment that is read where `--endpoint` is not given.
  static let variable = "MOMENTS_ENDPOINT"

  let url: URL
  private let source: String

  /// Takes an absolute `https` or `http` URL.
  ///
  /// - Parameter source: Where the text comes from, for the error; the text itself may hold a secret and is not shown.
  init(_ text: String, from source: String) throws(UsageError) {
    // Foundation would mend a text that is no URL (RFC 3986), percent-encode its host, and drop a port out of range.
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
    do {
      try url.checkForHTTP()
    } catch {
      throw UsageError("\(source): \(error.message)")
    }
    self.url = url
    self.source = source
  }

  /// Throws where all that is sent could be read on its way to another machine.
  func checkCleartext() throws(UsageError) {
    guard url.scheme?.lowercased() == "https" || url.isLoopback else {
      let host = url.host() ?? ""
      throw UsageError("\(source) would send everything in clear text to '\(host)'; use https, or --allow-cleartext")
    }
  }
}
