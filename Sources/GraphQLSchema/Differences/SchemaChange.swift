public import GraphQLLanguage

/// A difference between two versions of a schema.
public struct SchemaChange: Hashable, Sendable, CustomStringConvertible {
  /// What a change does to clients.
  public enum Impact: String, Hashable, Sendable, CaseIterable, Comparable {
    /// Operations or code that worked can fail.
    case breaking
    /// Operations work, but the code of a client may meet what it does not expect.
    case dangerous
    /// Clients do not notice.
    case safe

    /// Whether an impact is worse than another.
    public static func < (a: Impact, b: Impact) -> Bool {
      allCases.firstIndex(of: a) ?? 0 < allCases.firstIndex(of: b) ?? 0
    }
  }

  /// What it does to clients.
  public let impact: Impact

  /// What has changed, as a coordinate: `User.name`.
  public let coordinate: String

  /// What has changed, in words.
  public let message: String

  /// The coordinates whose use means that a change affects a client.
  let affectedUses: [String]

  /// `breaking: MESSAGE`.
  public var description: String { "\(impact.rawValue): \(message)" }
}

extension Schema {
  /// What is different in a newer version of this schema: the worst first, and otherwise in the order of the names.
  ///
  /// Breaking and dangerous are what graphql-js counts as such, and besides that an argument or input field becomes
  /// required because it loses its default.
  public func changes(to new: Schema) -> [SchemaChange] {
    var comparison = SchemaComparison(old: self, new: new)
    comparison.run()
    return comparison.changes.sorted { a, b in
      a.impact != b.impact ? a.impact < b.impact : (a.coordinate, a.message) < (b.coordinate, b.message)
    }
  }

  /// The operations of a document, valid for this schema, that a change affects.
  public func operations(in document: DocumentSyntax, affectedBy change: SchemaChange) -> [OperationSyntax] {
    operations(among: [document], affectedBy: [change])[0].map(\.operation)
  }

  /// The operations of documents, valid for this schema, that changes affect.
  ///
  /// The documents are one set: a fragment that is spread is that of the document in which it is spread, or else that of
  /// the first document that has one. What an operation uses is found once, however many changes there are.
  /// - Returns: For each change the operations that are affected by it, each with the number of its document.
  public func operations(
    among documents: [DocumentSyntax], affectedBy changes: [SchemaChange]
  ) -> [[(document: Int, operation: OperationSyntax)]] {
    var operations: [(document: Int, operation: OperationSyntax)] = []
    /// The numbers of the operations that use what has a coordinate, in order.
    var users: [String: [Int]] = [:]
    var uses = OperationUses(self, documents, wanted: Set(changes.flatMap(\.affectedUses)))
    for (number, document) in documents.enumerated() {
      for operation in document.operations {
        for coordinate in uses.coordinates(of: operation, in: number) {
          users[coordinate, default: []].append(operations.count)
        }
        operations.append((number, operation))
      }
    }
    return changes.map { change in
      Set(change.affectedUses.flatMap { users[$0] ?? [] }).sorted().map { operations[$0] }
    }
  }
}
