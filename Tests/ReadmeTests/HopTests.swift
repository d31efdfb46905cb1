import Foundation
import TestSupport
import Testing

/// The paths of CONTRIBUTING: no list is longer than it may be, and what it names is in the code.
@Suite struct HopTests {
  /// The greatest number of hops.
  private static let limits = [
    "A request": 30, "A subscription": 30, "A mutation through the outbox": 26, "A finding of the contract check": 14,
    "`flatMap`": 7, "A response from the HTTP cache": 12, "`graphql validate`": 12,
  ]

  /// The lists, by their headings.
  private static let walks = Result {
    let text = try String(contentsOf: RepositoryLayout.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
    var walks: [String: String] = [:]
    for section in text.components(separatedBy: "\n### ").dropFirst() {
      guard let end = section.firstIndex(of: "\n") else { continue }
      walks[String(section[..<end])] = section.components(separatedBy: "```").dropFirst().first
    }
    return walks
  }

  @Test(arguments: limits.keys.sorted())
  func `the hops of a path are numbered, and no more than they may be`(name: String) throws {
    let walk = try #require(try Self.walks.get()[name])
    let numbers = walk.split(separator: "\n").compactMap { Int($0.prefix(4).trimmingPrefix(while: \.isWhitespace)) }
    #expect(numbers == Array(1...numbers.count))
    #expect(numbers.count <= Self.limits[name] ?? 0)
  }

  @Test(arguments: limits.keys.sorted())
  func `each type and function of a path is in the code`(name: String) throws {
    let walk = try #require(try Self.walks.get()[name])
    let types = walk.matches(of: /[A-Z][a-z0-9]*[A-Z]\w+/).map { String($0.0) }
    let functions = walk.matches(of: /[A-Z]\w+\.([a-z]\w+)/).map { String($0.1) }
    #expect(types.count + functions.count >= 3)
    for word in types + functions { #expect(DocumentTests.words.contains(word)) }
  }
}
