import GraphQLLanguage
import Testing

@Suite struct SchemaCoordinateTests {
  @Test(arguments: [
    ("User", SchemaCoordinate.type("User")), ("User.name", .member(type: "User", name: "name")),
    ("Query.user(id:)", .argument(type: "Query", field: "user", name: "id")), ("@include", .directive("include")),
    ("@include(if:)", .directiveArgument(directive: "include", name: "if")),
    ("__Type._1", .member(type: "__Type", name: "_1")),
  ])
  func `a coordinate is parsed, and written as it was`(text: String, coordinate: SchemaCoordinate) throws {
    #expect(try SchemaCoordinate(parsing: text) == coordinate)
    #expect(coordinate.description == text)
  }

  @Test(arguments: [
    ("", "line 1, column 1: expected the name of a type, or \"@\" and that of a directive, found its end"),
    ("A.", "line 1, column 3: expected the name of a field, an input field or an enum value, found its end"),
    ("A.b.c", "line 1, column 4: expected the end of the coordinate, found \".\""),
    ("A.b(c)", "line 1, column 6: expected \":\", found \")\""),
    ("A.b(c:", "line 1, column 7: expected \")\", found its end"),
    ("A(b:)", "line 1, column 2: expected the end of the coordinate, found \"(\""),
    (" A", "line 1, column 1: expected the name of a type, or \"@\" and that of a directive, found \" \""),
    ("@", "line 1, column 2: expected the name of a directive, found its end"),
    ("1A", "line 1, column 1: expected the name of a type, or \"@\" and that of a directive, found \"1\""),
  ])
  func `a text that is no coordinate is an error with the place and what was expected`(
    text: String, description: String
  ) {
    let error = #expect(throws: GraphQLSyntaxError.self) { try SchemaCoordinate(parsing: text) }
    #expect(error?.description == description)
  }
}
