extension SwiftEmitter {
  /// What a normalised cache has to know of the schema, as a constant of `RecordSchema`.
  func recordSchema(_ model: RecordSchemaModel, named name: String, _ writer: inout SwiftWriter) {
    writer.block("\(configuration.isNonisolated ? "nonisolated " : "")extension RecordSchema") { writer in
      writer.documentation("What a `NormalizedStore` has to know of the schema, as far as the operations use it.")
      writer.line("\(access)static let \(SwiftNames.escaped(name)) = RecordSchema(")
      writer.indented { writer in
        if !model.roots.isEmpty {
          let roots = model.roots.map { "\($0.name): \(SwiftWriter.literal($0.type))" }
          writer.line("roots: Roots(\(roots.joined(separator: ", "))),")
        }
        lists("keyFields", model.keyFields.mapValues { $0.map(SwiftWriter.literal) }, &writer)
        lists("possibleTypes", model.possibleTypes.mapValues { $0.map(SwiftWriter.literal) }, &writer)
        let members = { (name: String, type: String) in "\(SwiftWriter.literal(name)): \(SwiftWriter.literal(type))" }
        lists("fieldTypes", model.fieldTypes.mapValues { $0.sorted { $0.key < $1.key }.map(members) }, &writer)
        if !model.connections.isEmpty {
          let connections = model.connections.sorted().map { "\(SwiftWriter.literal($0)): .connection" }
          writer.filled("paging: [", connections, "],")
        }
      }
      writer.line(")")
    }
  }

  /// A dictionary of lists, each in lines of its own, or none if it is empty.
  private func lists(_ label: String, _ lists: [String: [String]], _ writer: inout SwiftWriter) {
    if lists.isEmpty { return }
    writer.line("\(label): [")
    writer.indented { writer in
      for (name, elements) in lists.sorted(by: { $0.key < $1.key }) {
        writer.filled("\(SwiftWriter.literal(name)): [", elements, "],")
      }
    }
    writer.line("],")
  }
}
