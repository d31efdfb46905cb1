import Foundation
import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import Testing

@Suite struct IntrospectionTests {
  private func schema(_ json: String) throws -> Schema { try Schema(reading: Array(json.utf8)) }

  @Test func `a server of 2015 has no locations of directives, no subscriptions and no deprecation of arguments`()
    throws
  {
    let schema = try schema(
      """
      {"data": {"__schema": {
        "queryType": {"name": "Query"}, "mutationType": null,
        "types": [
          {"kind": "OBJECT", "name": "Query", "description": null, "inputFields": null, "interfaces": [], "enumValues": null,
           "possibleTypes": null, "fields": [
             {"name": "old", "description": "Of the query.", "isDeprecated": true, "deprecationReason": null, "args": [
               {"name": "ids", "description": null, "defaultValue": "[1, 2]",
                "type": {"kind": "NON_NULL", "name": null, "ofType":
                  {"kind": "LIST", "name": null, "ofType": {"kind": "SCALAR", "name": "Int", "ofType": null}}}}],
              "type": {"kind": "UNION", "name": "Thing", "ofType": null}}]},
          {"kind": "UNION", "name": "Thing", "possibleTypes": [{"kind": "OBJECT", "name": "Query"}]},
          {"kind": "SCALAR", "name": "Int"}, {"kind": "OBJECT", "name": "__Schema", "fields": []}
        ],
        "directives": [
          {"name": "include", "description": null, "args": [], "onOperation": false, "onFragment": true, "onField": true},
          {"name": "log", "description": "Logs.", "args": [], "onOperation": true, "onFragment": false, "onField": true}
        ]}}}
      """)
    #expect(schema.problems.isEmpty)
    #expect(
      schema.printed() == #"""
        """Logs."""
        directive @log on QUERY | MUTATION | SUBSCRIPTION | FIELD

        type Query {
          """Of the query."""
          old(ids: [Int]! = [1, 2]): Thing @deprecated
        }

        union Thing = Query
        """#)
  }

  @Test
  func
    `texts with quotes, lines and control characters survive, and default values that are not literals are left out`()
    throws
  {
    let schema = try schema(
      #"""
      {"__schema": {"queryType": {"name": "Q"}, "types": [
        {"kind": "OBJECT", "name": "Q", "description": "a \"\"\" b\n  c\\", "fields": [
          {"name": "a", "description": "  indented\u0007", "type": {"kind": "ENUM", "name": "E"},
           "args": [{"name": "x", "type": {"kind": "SCALAR", "name": "Int"}, "defaultValue": "None) {"}]}]},
        {"kind": "ENUM", "name": "E", "enumValues": [{"name": "A", "isDeprecated": true, "deprecationReason": "a \"b\"\n"}]}
      ]}}
      """#)
    #expect(schema.problems.isEmpty)
    let type = try #require(schema.type(named: "Q"))
    #expect(type.documentation == "a \"\"\" b\n  c\\")
    #expect(type.field(named: "a")?.documentation == "  indented\u{7}")
    #expect(type.field(named: "a")?.argument(named: "x")?.defaultValue == nil)
    #expect(schema.type(named: "E")?.value(named: "A")?.deprecationReason == "a \"b\"\n")
  }

  @Test func `JSON that is no introspection is refused, with the place`() throws {
    for json in [
      "{}", #"{"data": {}}"#, #"{"__schema": {}}"#, #"{"__schema": {"types": [{"kind": "SCALAR"}]}}"#,
      #"{"__schema": {"types": [{"kind": "SCALAR", "name": "a b"}]}}"#,
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "fields": [{"name": "a"}]}]}}"#, "{", "{\"__schema\":",
    ] {
      #expect(throws: JSONError.self, "\(json)") { try schema(json) }
    }
  }

  @Test func `the query asks for what a server has`() throws {
    let old = IntrospectionQuery(features: [
      "data": [
        "schema": ["fields": [["name": "types"], ["name": "queryType"]]],
        "type": [
          "fields": [
            ["name": "fields", "args": [["name": "includeDeprecated"]]], ["name": "inputFields", "args": []],
          ]
        ],
        "directive": ["fields": [["name": "onField", "args": []], ["name": "args", "args": []]]],
      ]
    ])
    #expect(!old.text.contains("specifiedByURL"))
    #expect(!old.text.contains("subscriptionType"))
    #expect(old.text.contains("onField"))
    #expect(old.text.contains("fields(includeDeprecated: true)"))
    #expect(!old.text.contains("inputFields(includeDeprecated"))
    let schema = try Schema(parsing: "type Query { a: Int }")
    for text in [
      old.text.replacing("onField", with: ""), IntrospectionQuery.standard.text, IntrospectionQuery.featureQuery,
    ] {
      #expect(schema.validate(try DocumentSyntax(parsing: text)).isEmpty)
    }
  }

  @Test
  func
    `a description of any characters, a non-null in a non-null, and places that nobody knows leave a schema readable`()
    throws
  {
    let text = #"""
      {"__schema": {"queryType": {"name": "Query"},
        "directives": [{"name": "a", "locations": ["FIELD", "NEW_PLACE"], "args": []}],
        "types": [{"kind": "OBJECT", "name": "Query", "description": "\"\"\"\u0301 and \"\"\" too", "fields": [
          {"name": "a", "args": [], "type": {"kind": "NON_NULL", "ofType":
            {"kind": "NON_NULL", "ofType": {"kind": "SCALAR", "name": "Int"}}}}]}]}}
      """#
    let schema = try Schema(reading: Array(text.utf8))
    #expect(schema.problems.isEmpty)
    #expect(schema.type(named: "Query")?.documentation == "\"\"\"\u{301} and \"\"\" too")
    #expect(schema.type(named: "Query")?.field(named: "a")?.type.description == "Int!")
    #expect(schema.directive(named: "a")?.locations == [.field])
  }
}
