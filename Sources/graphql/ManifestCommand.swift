import GraphQLLanguage
import Networking
import Platform

/// `manifest`.
extension GraphQLCommand {
  func writeManifest() throws -> ExitCode {
    guard let format = GraphQLManifest.Format(rawValue: arguments.format ?? "apollo") else {
      throw Failure(exitCode: .usage, message: "--format is apollo or relay; see graphql --help")
    }
    let all = try inputs(arguments.files)
    var swiftFiles = SwiftDocuments()
    var documents: [(input: Input, document: DocumentSyntax)] = []
    for input in all {
      if input.name.hasSuffix(".swift") {
        try swiftFiles.read(input)
      } else if let document = try parsed(input.bytes, in: input) {
        documents.append((input, document))
      } else {
        return .invalid
      }
    }
    var texts = try operations(documents)
    for (place, text) in try swiftFiles.resolved() {
      do throws(GraphQLSyntaxError) {
        // A document without operations is a fragment for others.
        guard let first = try DocumentSyntax(parsing: text).operations.first else { continue }
        texts.append((first.name?.text ?? "", first.kind.rawValue, text))
      } catch {
        throw Failure(exitCode: .invalid, message: "\(place): this document is not GraphQL: \(error)")
      }
    }
    try write(GraphQLManifest(texts).json(format), to: arguments.output ?? "-")
    return .success
  }

  private func parsed(_ bytes: [UInt8], in input: Input) throws -> DocumentSyntax? {
    do throws(GraphQLSyntaxError) {
      return try DocumentSyntax(parsing: bytes)
    } catch {
      report([Finding(error, in: input)])
      return nil
    }
  }

  /// The operations of GraphQL files, each followed by the fragments that it uses, as they are written.
  private func operations(
    _ documents: [(input: Input, document: DocumentSyntax)]
  ) throws -> [(name: String, type: String, body: String)] {
    var fragments: [String: FragmentSyntax] = [:]
    for (input, document) in documents {
      for fragment in document.fragments where fragments.updateValue(fragment, forKey: fragment.name.text) != nil {
        let place = "\(input.name):\(fragment.location.line)"
        throw Failure(exitCode: .invalid, message: "\(place): there is another fragment \(fragment.name.text)")
      }
    }
    var texts: [(name: String, type: String, body: String)] = []
    for (input, document) in documents {
      for operation in document.operations {
        var (parts, seen, open) = ([operation.text], Set<String>(), [operation.node])
        while let node = open.popLast() {
          if let spread = FragmentSpreadSyntax(node), seen.insert(spread.name.text).inserted {
            guard let fragment = fragments[spread.name.text] else {
              let place = "\(input.name):\(spread.location.line)"
              throw Failure(exitCode: .invalid, message: "\(place): there is no fragment \(spread.name.text)")
            }
            parts.append(fragment.text)
            open.append(fragment.node)
          }
          open += node.children.reversed()
        }
        texts.append((operation.name?.text ?? "", operation.kind.rawValue, parts.joined(separator: "\n")))
      }
    }
    return texts
  }
}
