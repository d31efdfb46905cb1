import GraphQLLanguage

/// The rules about definitions as a whole: `UniqueOperationNames`, `LoneAnonymousOperation`, `KnownOperationTypes` and
/// `UniqueFragmentNames`.
extension ValidationContext {
  func checkDefinitions() {
    let operations = document.operations
    for places in names.repeated(operations.compactMap(\.name)) {
      for other in places.dropFirst() {
        report(
          .uniqueOperationNames, "there is more than one operation \"\(other)\"", at: places[0].location, other.location
        )
      }
    }
    if operations.count > 1 {
      for operation in operations where operation.name == nil {
        report(
          .loneAnonymousOperation, "an operation without a name must be the only one", at: operation.location)
      }
    }
    for places in names.repeated(document.fragments.map(\.name)) {
      for other in places.dropFirst() {
        report(
          .uniqueFragmentNames, "there is more than one fragment \"\(other)\"", at: places[0].location, other.location)
      }
    }
  }

  func checkOperation(_ operation: OperationSyntax) {
    if schema.storage.tables.roots[operation.kind.index] == nil {
      report(
        .knownOperationTypes, "the schema has no \(operation.kind.rawValue) operations", at: operation.location)
    }
    for places in names.repeated(operation.variables.lazy.map(\.name)) {
      report(
        .uniqueVariableNames, "the variable \"$\(places[0])\" is defined more than once", at: places.map(\.location))
    }
  }
}
