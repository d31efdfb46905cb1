import GraphQLLanguage
import StrictJSON
import Testing

@testable import Stores

struct FieldKeyTests {
  private func key(_ field: String, declared: String = "", _ sent: [String: JSONValue] = [:]) throws -> String {
    let document = try DocumentSyntax(parsing: "query Q\(declared) { \(field) }")
    let operation = document.operations[0]
    guard case .field(let syntax) = operation.selectionSet.selections.first else { return "" }
    return RecordVariables(sent, of: operation).key(of: syntax)
  }

  @Test("the names of arguments and of nested input objects are sorted")
  func sorted() throws {
    #expect(try key("f(b: 1, a: {d: [1, {y: 2, x: 1}], c: true})") == "f(a:{c:true,d:[1,{x:1,y:2}]},b:1)")
  }

  @Test("a variable has the same key as its value")
  func variables() throws {
    let sent: [String: JSONValue] = ["v": .object(["b": .integer(1), "a": .string("x\"")])]
    #expect(try key("f(a: $v)", declared: "($v: I)", sent) == key(#"f(a: {a: "x\"", b: 1})"#))
  }

  @Test("the default of a variable counts where nothing is sent")
  func defaults() throws {
    #expect(try key("f(a: $v)", declared: "($v: Int = 10)") == "f(a:10)")
    #expect(try key("f(a: $v)", declared: "($v: Int = 10)", ["v": .integer(11)]) == "f(a:11)")
    #expect(try key("f(a: $v)", declared: "($v: Int = 10)", ["v": .null]) == "f(a:null)")
  }

  @Test("null and nothing are told apart")
  func absence() throws {
    #expect(try key("f(a: $v)", declared: "($v: Int)") == "f")
    #expect(try key("f(a: {b: $v})", declared: "($v: Int)") == "f(a:{})")
    #expect(try key("f(a: [$v])", declared: "($v: Int)") == "f(a:[null])")
    #expect(try key("f(a: null)") == "f(a:null)")
  }

  @Test("an enum's value and a string are told apart")
  func enums() throws {
    #expect(try key("f(a: RED)") == "f(a:RED)")
    #expect(try key(#"f(a: "RED")"#) == #"f(a:"RED")"#)
  }

  @Test("numbers with one value have one key")
  func numbers() throws {
    #expect(try key("f(a: 1.0)") == "f(a:1)")
    #expect(try key("f(a: 1.5)") == key("f(a: $v)", declared: "($v: Float)", ["v": .number(1.5)]))
  }

  @Test("a name of a variable's object cannot be taken for something else")
  func objectNames() throws {
    let forged: [String: JSONValue] = ["v": .object(["a:1,b": .integer(2)])]
    let honest: [String: JSONValue] = ["v": .object(["a": .integer(1), "b": .integer(2)])]
    #expect(try key("f(a: $v)", declared: "($v: I)", forged) != key("f(a: $v)", declared: "($v: I)", honest))
  }
}
