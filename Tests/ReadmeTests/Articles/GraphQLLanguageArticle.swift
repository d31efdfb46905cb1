// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import GraphQLLanguage

enum GraphQLLanguageArticle {
  static func samples() throws -> String {
    let document = try DocumentSyntax(parsing: "query user($id: ID!) { user(id: $id) { name } }")
    for operation in document.operations {
      for case .field(let field) in operation.selectionSet.selections {
        print(field.location, field.name, field.arguments.map(\.name.text))  // 1:24 user ["id"]
      }
    }
    do {
      _ = try DocumentSyntax(parsing: "{ user(id: ) { name } }")
    } catch {
      print(error)  // line 1, column 12: expected a value, found ")"
    }
    let schema = try DocumentSyntax(parsing: "type User { \"Shown to all\" name: String! @deprecated }")
    for case .type(let type) in schema.definitions {
      print(type.name, type.fields.map { "\($0.name): \($0.type.text), \($0.description?.value ?? "-")" })
    }
    let formatted = document.printed(keepingComments: true)
    return formatted
  }
}
