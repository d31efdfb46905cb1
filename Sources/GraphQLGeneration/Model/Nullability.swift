import GraphQLLanguage
import GraphQLSchema

/// Which values that the schema allows to be null are not: by the directives of schema extensions and of documents.
///
/// With the error policy `none`, the default, a response with any error fails. So what is null only because of an error, as
/// `@semanticNonNull` says, is never null in a response that is read.
struct Nullability {
  /// For a field's coordinate, the levels of its lists that are never null; 0 is the field itself.
  private var levels: [String: Set<Int>] = [:]
  private let schema: Schema
  private let directives: ClientDirectives

  init(_ schema: Schema, _ directives: ClientDirectives) {
    self.schema = schema
    self.directives = directives
    for type in schema.types where type.kind == .object || type.kind == .interface {
      for directive in type.directives { read(directive, of: type) }
    }
  }

  private mutating func read(_ directive: DirectiveSyntax, of type: NamedType) {
    switch directives.name(of: directive) {
    case "nonnull":
      let names = directive.string("fields") ?? ""
      for name in names.split(whereSeparator: { $0.isWhitespace || $0 == "," }) {
        levels["\(type.name).\(name)", default: []].insert(0)
      }
    case "semanticNonNullField":
      guard let name = directive.string("name") else { return }
      levels["\(type.name).\(name)", default: []].formUnion(directive.levels ?? [0])
    default: break
    }
  }

  /// The levels at which a field that is selected is not null although the schema allows it.
  func nonNullLevels(of field: Field, selectedAs selections: [FieldSyntax]) -> Set<Int> {
    var result = levels[field.coordinate] ?? []
    if let directive = field.definition?.directives.first(where: { directives.name(of: $0) == "semanticNonNull" }) {
      result.formUnion(directive.levels ?? [0])
    }
    for directive in selections.flatMap(\.directives) {
      switch directives.name(of: directive) {
      case "nonnull", "required": result.insert(0)
      case "catch" where directive.enumValue("to") != "THROW":
        result.subtract(directive.levels ?? result)
      default: break
      }
    }
    return result
  }
}

extension DirectiveSyntax {
  private func value(_ argument: String) -> ValueSyntax.Kind? {
    arguments.first { $0.name == argument }?.value.kind
  }

  /// The text of an argument.
  func string(_ argument: String) -> String? {
    if case .string(let text)? = value(argument) { text.value } else { nil }
  }

  /// The name of an enum's value.
  func enumValue(_ argument: String) -> String? {
    if case .enumValue(let name)? = value(argument) { name.text } else { nil }
  }

  /// The argument `levels`.
  fileprivate var levels: Set<Int>? {
    switch value("levels") {
    case .list(let items): Set(items.compactMap { if case .int(let text) = $0.kind { Int(text) } else { nil } })
    case .int(let text): Int(text).map { [$0] }
    default: nil
    }
  }
}
