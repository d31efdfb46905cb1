import Foundation
import TestSupport
import Testing

/// CONTRIBUTING's glossary has the words of public API.
@Suite struct PublicNameTests {
  /// The words that the glossary replaces by others.
  private static var avoided: Set<String> {
    get throws {
      let text = try String(contentsOf: RepositoryLayout.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
      let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix("Words\n") })
      let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
      return Set(
        rows.flatMap { row in
          let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
          }
          // A word with an explanation is avoided in that meaning alone.
          return (cells.count > 3 ? cells[3] : "").components(separatedBy: ", ").filter {
            !$0.isEmpty && $0.wholeMatch(of: /[a-z]+/) != nil
          }
        }
      )
    }
  }

  private static var names: Set<String> {
    get throws {
      let folder = RepositoryLayout.root.appending(path: "Sources")
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      let declaration =
        /public [a-z() ]*?(?:func|var|let|struct|class|enum|protocol|typealias|associatedtype) `?(?<name>\w+)/
      var names: Set<String> = []
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        names.formUnion(text.matches(of: declaration).map { String($0.output.name) })
      }
      return names
    }
  }

  /// The words of a name such as `urlLimit` or `HTTPRequest`.
  private func words(of name: String) -> [String] {
    name.matches(of: /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/).map { $0.output.lowercased() }
  }

  @Test func `names of public API have none of the words that the glossary replaces`() throws {
    let (avoided, names) = (try Self.avoided, try Self.names)
    #expect(avoided.count > 15)
    #expect(names.count > 1_000)
    let wrong = names.filter { !avoided.isDisjoint(with: words(of: $0)) }.sorted()
    #expect(wrong == [])
  }
}
