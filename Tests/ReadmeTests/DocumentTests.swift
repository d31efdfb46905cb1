import Foundation
import TestSupport
import Testing

@Suite("The documents")
struct DocumentTests {
  /// Every file and folder of the repository by its path from the root, without what is hidden or built.
  private static let paths: [String] = {
    let files = FileManager.default.enumerator(
      at: RepositoryLayout.root, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    let prefix = RepositoryLayout.root.path.count + 1
    return files?.compactMap { ($0 as? URL).map { String($0.path.dropFirst(prefix)) } } ?? []
  }()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: RepositoryLayout.root.appending(path: path), encoding: .utf8)
  }

  /// A text without its code, in which brackets are no links.
  private static func prose(_ text: String) -> String {
    text.replacing(/(?ms)^```.*?^```/, with: "").replacing(/`[^`]*`/, with: "code")
  }

  @Test func `every relative link leads to a file and a heading that are there`() throws {
    let documents = Self.paths.filter { $0.hasSuffix(".md") }
    #expect(documents.count > 40)
    for document in documents {
      let folder = URL(fileURLWithPath: document, relativeTo: RepositoryLayout.root).deletingLastPathComponent()
      let pictures = folder.appending(path: "Resources").path.dropFirst(RepositoryLayout.root.path.count + 1)
      for link in Self.prose(try Self.text(document)).matches(of: /\]\(([^()\s]*)\)/).map({ String($0.1) })
      where !link.contains(":") && !link.hasPrefix("/documentation") {
        // DocC finds a picture by its name.
        if Self.paths.contains(where: { $0.hasPrefix("\(pictures)/\(link).") }) { continue }
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let file = folder.appending(path: parts[0]).standardizedFileURL.path
        let target = parts[0].isEmpty ? document : String(file.dropFirst(RepositoryLayout.root.path.count + 1))
        #expect(Self.paths.contains(target), "\(document) links to \(link)")
        if parts.count == 2, target.hasSuffix(".md") {
          #expect(Self.anchors(in: try Self.text(target)).contains(parts[1]), "\(document) links to \(link)")
        }
      }
    }
  }

  /// What a link to a heading ends with, as GitHub makes it of the heading's text.
  private static func anchors(in text: String) -> [String] {
    text.replacing(/(?ms)^```.*?^```/, with: "").matches(of: /(?m)^#+ (.*)$/).map { heading in
      heading.1.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" || $0 == " " }
        .replacing(" ", with: "-")
    }
  }

  @Test func `every file that CONTRIBUTING and the article on systems name is there`() throws {
    for document in ["CONTRIBUTING.md", "Documentation/Systems.md"] {
      let code = try Self.text(document).replacing(/(?ms)^```.*?^```/, with: "").matches(of: /`([\w+.\/-]+)`/)
      let names = code.map { String($0.1) }.filter {
        $0.hasSuffix(".swift") || $0.hasSuffix(".md") || $0.dropFirst().contains("/")
      }
      #expect(!names.isEmpty)
      for name in names where !name.hasPrefix("/") && !name.hasPrefix(".") {
        let end = "/" + name.trimmingCharacters(in: ["/"])
        #expect(Self.paths.contains { "/\($0)".hasSuffix(end) }, "\(document) names \(name)")
      }
    }
  }

  /// The words of the sources, and the names of all files without their endings.
  static let words: Set<String> = {
    var words = Set(paths.flatMap { $0.split(separator: "/").map { String($0.prefix { $0 != "." }) } })
    for path in paths where path.hasSuffix(".swift") && !path.hasPrefix("Tests/") {
      let bytes = (try? Data(contentsOf: RepositoryLayout.root.appending(path: path))) ?? Data()
      let isInWord = { (byte: UInt8) in
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || byte == 0x5F || 0x30...0x39 ~= byte
      }
      for word in bytes.split(whereSeparator: { !isInWord($0) }) { words.insert(String(decoding: word, as: UTF8.self)) }
    }
    return words
  }()

  @Test func `every type that a document names is in the code`() throws {
    // Migrations name what there was before.
    let documents = Self.paths.filter {
      $0.hasSuffix(".md") && !$0.contains("/From") && !$0.hasPrefix("Benchmarks/") && $0 != "CHANGELOG.md"
    }
    // Foundation's.
    let others: Set = ["CharacterSet"]
    for document in documents {
      let text = try Self.text(document).replacing(/(?ms)^```.*?^```/, with: "")
      for code in text.matches(of: /`([\w.]+)(\(.*?\))?`/) {
        for name in code.1.split(separator: ".") where name.wholeMatch(of: /[A-Z][a-z]+[A-Z]\w+/) != nil {
          #expect(Self.words.contains(String(name)) || others.contains(String(name)), "\(document) names \(code.1)")
        }
      }
    }
  }

  @Test func `the README and the front page of the site compare with others in the same table`() throws {
    let tables = try ["README.md", "Documentation/MomentsSDK.docc/MomentsSDK.md"].map { path in
      try Self.text(path).split(separator: "\n").drop { !$0.hasPrefix("| | this SDK |") }.prefix { $0.hasPrefix("|") }
    }
    #expect(tables[0].count > 10)
    #expect(tables[0] == tables[1])
  }

  @Test(arguments: ["2", "20"])
  func `the processor times in the README are the latest of the benchmark`(size: String) throws {
    let rows = try Self.text("Benchmarks/README.md").split(separator: "\n").map { row in
      row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    func time(_ client: String) throws -> String {
      let row = try #require(rows.last { $0.starts(with: ["\(size) KB, 64 at once", client]) })
      return "\(Int(try #require(Double(row[5])).rounded())) µs"
    }
    let shown = try #require(
      try Self.text("README.md").split(separator: "\n").first {
        $0.hasPrefix("| processor time, timeline of \(size) KB |")
      })
    let ours = try "\(time("SDK, SocketTransport")); \(time("SDK, with tokens and the standard middlewares")) with"
    #expect(shown.contains("| \(ours) the standard middlewares |"))
    #expect(shown.hasSuffix(try "| \(time("async-http-client, JSONDecoder")) |"))
  }

  @Test func `the package depends on no other, as the README says`() throws {
    #expect(!(try Self.text("Package.swift").contains(".package(")))
  }
}
