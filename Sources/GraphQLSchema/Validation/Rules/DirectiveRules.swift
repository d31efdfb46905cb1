import GraphQLLanguage

/// The rules about directives: `KnownDirectives` and `UniqueDirectivesPerLocation`.
extension ValidationContext {
  /// Returns the directive in the schema.
  func checkDirective(_ syntax: DirectiveSyntax, at location: DirectiveLocation) -> Int? {
    guard let directive = schema.storage.tables.directive(named: names.schemaID(of: syntax.name)) else {
      let known = (schema.directives + schema.builtInDirectives).map(\.name)
      let near = Suggestions.nearest(to: syntax.name.text, among: known).map { "@" + $0 }
      report(
        .knownDirectives, "the schema has no directive \"@\(syntax.name)\"." + Suggestions.question(near),
        at: syntax.location)
      return nil
    }
    let locations = schema.storage.tables.directives[directive].locations
    if !locations.contains(location) {
      let places = locations.map(\.rawValue).joined(separator: ", ")
      report(
        .knownDirectives, "\"@\(syntax.name)\" cannot stand on \(location.rawValue), only on \(places)",
        at: syntax.location)
    }
    return directive
  }

  func checkRepeatedDirectives(_ directives: SyntaxList<DirectiveSyntax>) {
    for places in names.repeated(directives.lazy.map(\.name)) {
      guard let directive = schema.storage.tables.directive(named: names.schemaID(of: places[0])),
        !schema.storage.tables.directives[directive].isRepeatable
      else { continue }
      let same = directives.filter { $0.name == places[0] }
      for other in same.dropFirst() {
        report(
          .uniqueDirectivesPerLocation, "\"@\(places[0])\" can stand only once in one place", at: same[0].location,
          other.location)
      }
    }
  }
}
