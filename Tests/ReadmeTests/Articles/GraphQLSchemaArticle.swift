// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import GraphQLLanguage
import GraphQLSchema

enum GraphQLSchemaArticle {
  static func types(_ sdl: String) throws -> SchemaElement? {
    let schema = try Schema(parsing: sdl)
    for field in schema.type(named: "User")?.fields ?? [] {
      print(field.coordinate, field.type, field.arguments.map(\.name), field.isDeprecated)
    }
    let name = try schema.element(at: "Query.user(id:)")  // an argument, whose type is ID!
    return name
  }

  static func documents(_ schema: Schema, newer: Schema) throws {
    let document = try DocumentSyntax(parsing: "{ user(id: 1) { nmae } }")
    for error in schema.validate(document) {
      print(error)  // 1:17: User has no field "nmae". Did you mean "name"? [FieldsOnCorrectType]
    }
    for change in schema.changes(to: newer) where change.impact == .breaking {
      print(change.message, schema.operations(in: document, affectedBy: change).count)
    }
  }
}
