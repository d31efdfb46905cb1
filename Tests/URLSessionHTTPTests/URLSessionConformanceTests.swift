import Foundation
import HTTP
import TestSupport
import Testing
import TransportConformance
import URLSessionHTTP

struct URLSessionConformanceTests {
  /// What Foundation on Linux makes impossible; the documentation of the transport tells of it.
  private static let exceptions: Set = [
    // These end the process.
    "a body in chunks, with trailers, in any pieces, is put together",
    "T8: closed in the headers has a documented end",
    "T8: a response cut at any byte is a lost connection",
    // And these fail.
    "T3: a slow observer stops the reading",
    "T8: a chunk size that is no number has a documented end",
    "T8: a header line without end has a documented end",
    "T8: a switch of protocols that was not requested has a documented end",
    "T8: what can be read in two ways is refused",
    "T10: a request that may have been processed is not sent again",
    "T10: a repeatable request is sent again if its kept connection dies",
  ]

  @Test(arguments: TransportConformance.cases.filter { !exceptions.contains($0.description) })
  func `the transport on URLSession conforms, as far as it can`(_ test: TransportConformance.Case) async throws {
    try await test.check(URLSessionTransport())
  }

  @Test func `the part of Foundation that needs libcurl is imported in one file`() throws {
    let sources = RepositoryLayout.root.appending(path: "Sources")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let importers = try files.compactMap { $0 as? URL }.filter {
      try $0.pathExtension == "swift" && String(contentsOf: $0, encoding: .utf8).contains("import FoundationNetworking")
    }
    #expect(importers.map(\.lastPathComponent) == ["URLSessionTransport.swift"])
  }

  @Test func `each exception is that of a case`() {
    #expect(Self.exceptions.isSubset(of: TransportConformance.cases.map(\.description)))
  }
}
