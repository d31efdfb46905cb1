import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import Testing

@testable import GraphQLClient
@testable import GraphQLTesting

/// Of two fragments of one name the last counts, for whatever reads a document.
@Suite struct FragmentsOfOneNameTests {
  private static let sdl = """
    directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
    type Query { first: Int last: Int other: Int }
    """
  private static let names = ["first", "last"]

  private static func document(beside selection: String = "") throws -> DocumentSyntax {
    try DocumentSyntax(
      parsing: """
        query q { \(selection) ...f @defer(label: "l") } fragment f on Query { first } fragment f on Query { last }
        """)
  }

  /// Each gives the fields that a spread of the fragment selects.
  private static let users: [(name: String, fields: @Sendable (Schema) throws -> [String])] = [
    (
      "the table of fragments",
      { _ in
        let document = try document()
        let table = FragmentTable(document)
        let reached = table.reached(from: document.operations[0].node)
        return reached.flatMap { table.all[$0].syntax.selectionSet.selections.map(\.text) }
      }
    ),
    (
      "validation",
      { schema in
        // An alias is in conflict with a field that the fragment selects.
        try names.filter { name in
          let errors = schema.validate(try document(beside: "\(name): other"))
          return errors.contains { $0.rule == .overlappingFieldsCanBeMerged }
        }
      }
    ),
    (
      "execution",
      { schema in
        let result = Executor(schema) { _ in 1 }.execute(try document())
        return names.filter { result.data?.json[$0] != nil }
      }
    ),
    (
      "differences",
      { schema in
        try names.filter { name in
          let changes = schema.changes(to: try Schema(parsing: sdl.replacing("\(name): Int", with: "")))
          return try !schema.operations(in: document(), affectedBy: #require(changes.first)).isEmpty
        }
      }
    ),
    (
      "incremental delivery",
      { _ in
        let document = try document()
        let plan = try #require(IncrementalPlan(of: document.operations[0], in: document))
        let fragment = try #require(plan.objects.last?.fragments["l"])
        return Array(plan.objects[fragment].fields.keys)
      }
    ),
    (
      "the contract check",
      { schema in Array(try OperationPlan(operation: nil, in: document(), schema).selections.keys) }
    ),
  ]

  @Test(arguments: users.indices)
  func `of two fragments of one name the last counts for all that read documents`(user: Int) throws {
    let fields = try Self.users[user].fields(Schema(parsing: Self.sdl))
    #expect(fields == ["last"], "\(Self.users[user].name)")
  }

  @Test func `validation reports two fragments of one name`() throws {
    let errors = try Schema(parsing: Self.sdl).validate(Self.document())
    #expect(errors.map(\.rule) == [.uniqueFragmentNames])
  }
}
