import Foundation
import HTTPClientCore
import TestSupport
import Testing
import TransportConformance
import URLSessionHTTP

struct URLSessionConformanceTests {
  /// What Foundation on Linux makes impossible; the documentation of the transport tells of it.
  private static let exceptions: Set = [
    // These end the process.
    "a body in chunks, with trailers, in any pieces, is put together",
    "trailers come once, behind the body, and in no place of the head, if the transport gives them",
    "T8: closed in the headers has a documented end",
    "T8: a response cut at any byte is a lost connection",
    // And these fail.
    "T3: a slow observer stops the reading",
    "T3: an endless body is cut off at the limit, and the connection closed",
    "T7: disposing stops a body without end within 100 ms",
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
    let importers = try Self.imports(of: ["FoundationNetworking"]).map(\.file.lastPathComponent)
    #expect(importers == ["URLSessionTransport.swift"])
  }

  @Test func `no other module imports all of Foundation, which would make static programs large`() throws {
    for (file, line) in try Self.imports(of: ["Foundation", "FoundationEssentials", "Glibc", "Musl", "Darwin"])
    where Set(["SystemBase", "URLSessionHTTP"]).isDisjoint(with: file.pathComponents) {
      Issue.record("\(file.path): write 'import SystemBase' in place of '\(line)'")
    }
  }

  /// The lines of the package's sources that import one of these modules.
  private static func imports(of modules: Set<String>) throws -> [(file: URL, line: String)] {
    let sources = RepositoryLayout.root.appending(path: "Sources")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.flatMap { file in
      try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { line in
        let words = line.split(separator: " ")
        return words.dropLast().last == "import" && words.last.map { modules.contains(String($0)) } == true
      }.map { (file, String($0)) }
    }
  }

  @Test func `each exception is that of a case`() {
    #expect(Self.exceptions.isSubset(of: TransportConformance.cases.map(\.description)))
  }
}
