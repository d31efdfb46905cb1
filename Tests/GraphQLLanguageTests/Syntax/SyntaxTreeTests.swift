import GraphQLLanguage
import Testing

@Suite struct SyntaxTreeTests {
  private let document: DocumentSyntax

  init() throws {
    document = try DocumentSyntax(parsing: "query q($a: [Int!]! = [1]) { b: c(d: $a) @e { f } }")
  }

  @Test func `nodes are numbered in the order of the text, each before its children and within them`() {
    var seen: [UInt32] = []
    func visit(_ node: SyntaxNode) {
      seen.append(node.id)
      for child in node.children {
        #expect(node.range.lowerBound <= child.range.lowerBound)
        #expect(child.range.upperBound <= node.range.upperBound)
        visit(child)
      }
    }
    visit(document.node)
    #expect(seen == (0..<UInt32(document.nodeCount)).map { $0 })
    #expect(seen.map { document.node($0).id } == seen)
  }

  @Test func `a view is of nodes of its kind only`() throws {
    let operation = try #require(document.definitions.first)
    #expect(FragmentSyntax(operation.node) == nil)
    #expect(OperationSyntax(operation.node)?.name?.text == "q")
    #expect(FieldSyntax(document.node) == nil)
    #expect(ValueSyntax(operation.node) == nil)
    #expect(operation.node.kind == .operation)
  }

  @Test func `names compare by their spelling, also across documents`() throws {
    let other = try DocumentSyntax(parsing: "{ c cc }")
    let names = other.operations[0].selectionSet.selections.compactMap { FieldSyntax($0.node)?.name }
    let name = try #require(document.operations[0].selectionSet.selections.first.flatMap { FieldSyntax($0.node) }).name
    #expect(name == names[0])
    #expect(!(name == names[1]))
    #expect(name == "c")
    #expect(!(name == "cc"))
  }

  @Test func `each part of a field and a variable has its own place`() throws {
    let operation = document.operations[0]
    let field = try #require(operation.selectionSet.selections.first.flatMap { FieldSyntax($0.node) })
    #expect(operation.name?.location == SourceLocation(line: 1, column: 7))
    #expect(operation.variables.first?.name.location == SourceLocation(line: 1, column: 10))
    #expect(operation.variables.first?.type.location == SourceLocation(line: 1, column: 13))
    #expect(operation.variables.first?.type.text == "[Int!]!")
    #expect(operation.variables.first?.type.name.text == "Int")
    #expect(field.alias?.text == "b")
    #expect(field.text == "b: c(d: $a) @e { f }")
    #expect(field.arguments.first?.value.location == SourceLocation(line: 1, column: 38))
    #expect(document.source.utf8.count == document.range.upperBound)
  }
}
