import GraphQLClient
import GraphQLCommandLine
import GraphQLLanguage
import GraphQLSchema
import SystemBase

/// `manifest`.
extension GraphQLCommand {
  func writeManifest() throws -> ExitCode {
    guard let format = GraphQLManifest.Format(rawValue: arguments.format ?? "apollo") else {
      throw Failure(exitCode: .usage, message: "--format is apollo or relay; see graphql --help")
    }
    let inputs = try console.inputs(arguments.files, endings: Documents.endings)
    if let output = arguments.output, let path = Input.resolved(output),
      inputs.contains(where: { Input.resolved($0.name) == path })
    {
      throw Failure(
        exitCode: .cannotWrite,
        message: "\(output): it is one of the files that are read, so that it is not overwritten")
    }
    var findings = inputs.filter(\.isSwift).flatMap(Self.unknownDocuments)
    let hint = findings.isEmpty ? "" : "; sessions have theirs from GraphQLManifest, in a test"
    let documents = Documents(inputs.filter { !$0.isSwift }, isSeparate: arguments.flags.contains(.separately))
    findings += documents.findings
    let operations = operations(of: documents, &findings)
    if format == .apollo { findings += Self.unusableNames(in: documents) }
    guard findings.isEmpty else {
      console.report(findings)
      throw Failure(exitCode: .invalid, message: "no manifest is written: \(counted(findings.count, "error"))\(hint)")
    }
    guard !operations.isEmpty else {
      throw Failure(exitCode: .invalid, message: "there is no operation in these files")
    }
    try write(json: GraphQLManifest(operations).json(format), to: arguments.output ?? "-")
    console.report(documents.summary)
    return .success
  }

  /// The operations of documents, each followed by the fragments that it uses, as they are written.
  private func operations(
    of documents: Documents, _ findings: inout [Finding]
  ) -> [(name: String, type: String, body: String)] {
    var operations: [(name: String, type: String, body: String)] = []
    for (index, document) in documents.all.enumerated() {
      for operation in document.syntax.operations {
        let uses = documents.uses(of: [operation.node], in: index)
        findings += uses.missing + uses.ambiguous
        let parts = [operation.text] + uses.fragments.map(\.syntax.text)
        operations.append((operation.name?.text ?? "", operation.kind.rawValue, parts.joined(separator: "\n")))
      }
    }
    return operations
  }

  /// Operations without a name, or with that of another one: a server finds those of Apollo's format by name, too.
  private static func unusableNames(in documents: Documents) -> [Finding] {
    var findings: [Finding] = []
    var places: [(name: String, place: Place)] = []
    for document in documents.all {
      for operation in document.syntax.operations {
        let place = document.source.place(operation.location)
        if let name = operation.name {
          places.append((name.text, place))
        } else {
          findings.append(
            Finding(
              ValidationRule.loneAnonymousOperation.rawValue,
              "this \(operation.kind.rawValue) has no name, which a manifest needs, but for --format relay", at: [place]
            ))
        }
      }
    }
    for (name, operations) in Dictionary(grouping: places, by: \.name).sorted(by: { $0.key < $1.key })
    where operations.count > 1 {
      findings.append(
        Finding(
          ValidationRule.uniqueOperationNames.rawValue, "there are \(operations.count) operations \"\(name)\"",
          at: operations.map(\.place)))
    }
    return findings
  }

  /// The sessions and documents of a Swift file, whose texts only the program knows.
  private static func unknownDocuments(in input: Input) -> [Finding] {
    let swift = SwiftLiterals(input)
    let literals = swift.documents.compactMap(\.anchors.first?.inFile) + swift.unread.map(\.place) + swift.braces
    let places = (swift.mentions + literals).sorted()
    let message = "only the running program knows the documents of its sessions"
    return places.enumerated().filter { $0 == 0 || $1.line > places[$0 - 1].line }.map { _, place in
      Finding(nil, message, at: [Place(input, place)])
    }
  }
}
