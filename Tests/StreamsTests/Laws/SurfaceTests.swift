import Foundation
import Testing

@Suite struct SurfaceTests {
  /// What is public on Observable, and neither a source nor an operator from Observable to Observable.
  private static let others: Set<String> = ["Observable", "asObservable", "value", "values"]

  /// What is in a table, and not public.
  private static let ofThePackage: Set<String> = ["handled"]

  @Test func `every source and every operator of the surface is in a table of the compliance suite`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Streams")
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let observable = /\n(?:extension|public struct) Observable\b[^{]*\{[\s\S]*?\n\}/
    let onObservable = /public (?:static )?(?:func|var) `?(\w+)/
    // Whatever else gives a stream is a source, as the subjects are.
    let type = /public (?:final class|struct|enum) (\w+)[^{]*\{(?:(?!\n\})[\s\S])*func asObservable/
    var names: Set<String> = []
    for case let file as URL in files
    where file.pathExtension == "swift" && file.lastPathComponent != "UnavailableStreams.swift" {
      let text = "\n" + (try String(contentsOf: file, encoding: .utf8))
      for body in text.matches(of: observable) {
        names.formUnion(body.output.matches(of: onObservable).map { String($0.output.1) })
      }
      names.formUnion(text.matches(of: type).map { String($0.output.1) })
    }
    #expect(names.isSuperset(of: ["map", "just", "ReplaySubject"]))
    let tables = [Operator.all.map(\.name), Source.all.map(\.name), Constant.all.map(\.name)]
    let inTables = Set(tables.joined().map { $0.prefix { $0.isLetter }.description })
    #expect(names.subtracting(Self.others) == inTables.subtracting(Self.ofThePackage))
  }
}
