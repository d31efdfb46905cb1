import Foundation
import Testing

@Suite struct SurfaceTests {
  /// What is public on Observable and is no operator from Observable to Observable.
  static let others: Set<String> = [
    "asObservable", "value", "values",
    "create", "deferred", "just", "from", "empty", "error", "never", "async",
  ]

  @Test func `every operator of the surface is in the compliance suite's table`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Streams")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let declaration = /public (?:static )?(?:func|var) `?(\w+)/
    var names: Set<String> = []
    for case let file as URL in files where file.lastPathComponent.hasPrefix("Observable") {
      let text = try String(contentsOf: file, encoding: .utf8)
      names.formUnion(text.matches(of: declaration).map { String($0.output.1) })
    }
    #expect(names.contains("map"))
    #expect(names.subtracting(Self.others) == Set(Operator.all.map(\.family)))
  }
}

extension Operator {
  /// The function's name: `zip, of three` is a `zip`.
  var family: String { String(name.prefix { $0.isLetter }) }
}
