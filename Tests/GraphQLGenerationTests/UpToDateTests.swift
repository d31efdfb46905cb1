import Foundation
import GraphQLGeneration
import TestSupport
import Testing

@Suite struct UpToDateTests {
  @Test(arguments: ["GeneratedMoments", "GeneratedShapes"])
  func `the generated files are what the generator makes of their documents`(_ target: String) throws {
    let folder = GenerationFolder(target: target)
    for file in try folder.generate().files {
      let text = try? String(contentsOf: folder.url.appendingPathComponent("Generated/\(file.name)"), encoding: .utf8)
      #expect(text == file.text, "\(file.name) is not up to date: run 'graphql generate' in Tests/\(target)")
    }
  }
}
