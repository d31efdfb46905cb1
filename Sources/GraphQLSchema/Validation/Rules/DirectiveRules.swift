import GraphQLLanguage

/// The rules about directives: `KnownDirectives` and `UniqueDirectivesPerLocation`.
extension ValidationContext {
  /// Returns the directive in the schema.
  func checkDirective(_ syntax: DirectiveSyntax, at location: DirectiveLocation) -> Int? {
    guard let directive = schema.storage.tables.directive(named: names.schemaID(of: syntax.name)) else {
      guard isChecked(.knownDirectives) else { return nil }
      report(
        .knownDirectives,
        "the schema has no directive \"@\(syntax.name)\"."
          + question(
            syntax.name.text, among: (schema.directives + schema.builtInDirectives).map(\.name), prefix: "@"),
        at: syntax.location)
      return nil
    }
    let locations = schema.storage.tables.directives[directive].locations
    if !locations.contains(location) {
      report(
        .knownDirectives,
        "\"@\(syntax.name)\" cannot stand on \(location.rawValue), only on "
          + locations.map(\.rawValue).joined(separator: ", "), at: syntax.location)
    }
    return directive
  }

  func checkRepeatedDirectives(_ directives: SyntaxList<DirectiveSyntax>) {
    let repeated = names.repeated(directives.lazy.map(\.name))
    guard !repeated.isEmpty, isChecked(.uniqueDirectivesPerLocation) else { return }
    let byName = Dictionary(grouping: directives) { names.number($0.name) }
    for places in repeated {
      guard let directive = schema.storage.tables.directive(named: names.schemaID(of: places[0])),
        !schema.storage.tables.directives[directive].isRepeatable, let same = byName[names.number(places[0])]
      else { continue }
      for other in same.dropFirst() where isChecked(.uniqueDirectivesPerLocation) {
        report(
          .uniqueDirectivesPerLocation, "\"@\(places[0])\" can stand only once in one place", at: same[0].location,
          other.location)
      }
    }
  }
}
