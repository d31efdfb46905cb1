import Foundation
import GraphQLGeneration
import Testing

/// What things are called, and comments.
@Suite struct NamingTests {
  @Test func `words of Swift are names in backticks, or with an underscore where backticks do not help`() throws {
    let schema =
      "type Query { self: Int init: Int Type: Int Protocol: Int Self: Int in: Int default: Int case: Int _: Int json: Int }"
    let text = try Sample.text("query A { self init Type Protocol Self in default case _ json }", schema: schema)
    for name in ["self_", "init_", "Type_", "Protocol_", "Self_", "`in`", "`default`", "`case`", "underscore", "json"] {
      #expect(text.contains("let \(name): Int?\n"))
    }
    #expect(text.contains("json: json.optionalInt(\"json\")"))
  }

  @Test func `acronyms are written in capitals, and names that become equal are told apart`() throws {
    let schema =
      "type Query { userId: Int userID: Int idOfUser: Int userIdentity: Int byId: A! } type A { url: Int imageUrl: Int }"
    let text = try Sample.text(
      "query getById { userId userID idOfUser userIdentity byId { url imageUrl } }", schema: schema
    ) {
      $0.acronyms = ["ID", "url"]
    }
    for line in [
      "let userID: Int?", "let userID_: Int?", "let idOfUser: Int?", "let userIdentity: Int?", "let byID: ByID",
      "struct ByID: JSONSelection, Sendable {", "let url: Int?", "let imageURL: Int?",
      "struct GetByIDSession: GetByIDSessionType {",
    ] {
      #expect(text.contains(line + (line.hasSuffix("{") ? "" : "\n")))
    }
    #expect(text.contains(#"userID: json.optionalInt("userId")"#))
    #expect(text.contains(#"userID_: json.optionalInt("userID")"#))
  }

  @Test func `a struct inside of another does not hide a type that the code needs`() throws {
    let schema = """
      type Query { string: A! int: A! date: A! fields: A! role: A! }
      type A { a: String! b: Int! c: DateTime! d: Role! next: Query! }
      scalar DateTime
      enum Role { X }
      """
    let text = try Sample.text(
      "query Q { string { a b c d next { ...fields } } int { a } date { a } fields { a } role { a } } fragment fields on Query { int { b } }",
      schema: schema)
    for name in ["StringObject", "IntObject", "DateObject", "FieldsObject", "RoleObject"] {
      #expect(text.contains("struct \(name): JSONSelection"))
    }
  }

  @Test func `a field that is written as its type would be leaves the name to the property`() throws {
    let schema =
      "type Query { Data: Data Kind: I } type Data { Data: Data id: ID } interface I { id: ID } type A implements I { id: ID }"
    let text = try Sample.text("query Q { Data { Data { id } } Kind { ... on A { id } } }", schema: schema)
    #expect(text.contains("let Data: DataObject?\n"))
    #expect(text.contains("struct DataObject: JSONSelection"))
    #expect(text.contains("let Kind: KindObject?\n"))
  }

  @Test func `types of the module that would have one name are told apart by what they are`() throws {
    let schema =
      "type Query { role: Role observable: Observable a(role: String_, in: role): Int } enum Role { A } enum Observable { B } input String_ { a: Int } input role { a: Int }"
    let code = try Sample.code(
      "query Q($a: role) { role observable a(in: $a) ...Role } fragment Role on Query { role }", schema: schema)
    let text = code.files.map(\.text).joined()
    // Of two that differ in case alone, the order of their names decides.
    #expect(text.contains("enum Role: String"))
    #expect(text.contains("enum ObservableEnum: String"))
    #expect(text.contains("struct RoleInput: JSONInputObject"))
    #expect(text.contains("struct RoleFragment: JSONSelection"))
  }

  @Test func `cases of enums are in camel case or as they are, and never the same`() throws {
    let schema = "type Query { a: E } enum E { IN_PROGRESS inProgress InProgress default Type _2D URL_KIND __ none }"
    let camel = try Sample.shared("query A { a }", schema: schema)
    for line in [
      "case inProgress = \"IN_PROGRESS\"", "case inProgress_ = \"inProgress\"", "case inProgress__ = \"InProgress\"",
      "case `default`", "case type = \"Type\"", "case _2d = \"_2D\"", "case urlKind = \"URL_KIND\"",
      "case underscore_ = \"__\"", "case none",
    ] {
      #expect(camel.contains("  " + line + "\n"), "\(line)")
    }
    let asWritten = try Sample.shared("query A { a }", schema: schema) { $0.enumCases = .asWritten }
    #expect(asWritten.contains("  case IN_PROGRESS\n  case inProgress\n  case InProgress\n"))
  }

  @Test(arguments: ["Parameters", "Response", "ResponseData", "ResponseType", "Session", "Variables"])
  func `a type of the module does not have the name of one that each session has in it`(_ name: String) throws {
    let schema = "type Query { all: \(name) } enum \(name) { A }"
    let received = try Sample.code("query Q { all }", schema: schema).files.map(\.text).joined()
    #expect(received.contains("let all: GraphQLEnum<\(name)Enum>?\n"))
    #expect(received.contains("enum \(name)Enum: String, CaseIterable, Sendable {\n"))
    let input = try Sample.text(
      "query Q($a: \(name)) { own(in: $a) }", schema: "type Query { own(in: \(name)): Int } input \(name) { a: Int }")
    #expect(input.contains("func q(a: GraphQLNullable<\(name)Input> = .absent)"))
    let fragment = try Sample.text("query Q { a { b ...\(name) } } fragment \(name) on A { b }", schema: Self.nested)
    #expect(fragment.contains("+ \(name)Fragment.document\n"))
    // Inside of the data nobody means the session's.
    let field = try Sample.text("query Q { \(name): a { b } }", schema: Self.nested)
    #expect(field.contains("struct \(name)Object: JSONSelection, Sendable {\n"))
  }

  private static let nested = "type Query { a: A } type A { b: Int }"

  @Test(arguments: ["Session", "Variables", "sessionHandler", "variables"])
  func `a variable does not have a name that the code of its session uses`(_ name: String) throws {
    let text = try Sample.text("query Q($\(name): Int) { a(b: $\(name)) }", schema: "type Query { a(b: Int): Int }")
    #expect(text.contains("let session = Session(\(name)_: \(name)_)\n"))
    #expect(text.contains("variables = Variables(\(name)_: \(name)_)\n"))
    #expect(text.contains("json.member(\"\(name)\", \(name)_)\n"))
  }

  @Test func `an operation is not called as its session's closure is`() throws {
    let text = try Sample.text("query SessionHandler { users { id } }")
    #expect(text.contains("func sessionHandler_() -> Observable<ResponseData> {\n"))
  }

  @Test func `a type of the module does not hide the Swift type of a scalar`() throws {
    let schema = """
      type Query { date(in: Date, data: Data): DateTime json: JSONValue role: Role at: URI }
      input Date { at: DateTime }
      input Data { a: Int }
      enum JSONValue { A }
      enum Role { A }
      scalar DateTime scalar JSON scalar URI scalar RoleName scalar NotHere
      """
    let code = try Sample.code(
      "query Q($a: Date, $b: Data) { date(in: $a, data: $b) json role }", schema: schema
    ) {
      $0.scalars["JSON"] = .init("[String: JSONValue]")
      $0.scalars["URI"] = .init("Foundation.Data", module: "Foundation")
      $0.scalars["RoleName"] = .init("GraphQLEnum<Role>")
    }
    let text = code.files.map(\.text).joined()
    #expect(text.contains("struct DateInput: JSONInputObject"))
    #expect(text.contains("public var at: GraphQLNullable<Date>\n"))
    #expect(text.contains("enum JSONValueEnum: String"))
    // What has its module before it, and what is meant to be generated, hides nothing.
    #expect(text.contains("struct Data: JSONInputObject"))
    #expect(text.contains("enum Role: String"))
  }

  @Test func `a struct inside of another does not hide a type with a digit, or an enum that has another name`() throws {
    let schema =
      "type Query { int64: A observableEnum: A } type A { a: Big b: Observable } enum Observable { X } scalar Big"
    let text = try Sample.text("query Q { int64 { a } observableEnum { b } }", schema: schema) {
      $0.scalars["Big"] = .init("Int64")
    }
    #expect(text.contains("struct Int64Object: JSONSelection"))
    #expect(text.contains("struct ObservableEnumObject: JSONSelection"))
  }

  @Test func `types that code uses in places have their names where it does`() throws {
    let schema = "type Query { a(b: Int): Void c: RecordSchema } enum Void { A } enum RecordSchema { A }"
    let uploading = schema.replacing("b: Int", with: "b: Upload") + " scalar Upload"
    let text = try Sample.shared("query Q($a: Upload) { a(b: $a) c }", schema: uploading) { $0.recordSchema = "all" }
    #expect(text.contains("enum VoidEnum: String"))
    #expect(text.contains("enum RecordSchemaEnum: String"))
    let without = try Sample.shared("query Q { a c }", schema: schema)
    #expect(without.contains("enum Void: String"))
    #expect(without.contains("enum RecordSchema: String"))
  }

  @Test func `a case does not have the name of a member that the code declares, or that the compiler does`() throws {
    let schema = "type Query { a: E b: F } enum E { ALL_CASES B @deprecated } enum F { ALL_CASES RawValue }"
    let camel = try Sample.shared("query A { a b }", schema: schema)
    #expect(
      camel.declaration("enum E:") == """
        public enum E: String, CaseIterable, Sendable {
          case allCases_ = "ALL_CASES"
          @available(*, deprecated, message: "No longer supported")
          case b = "B"

          /// The values that are not deprecated.
          public static var allCases: [E] { [.allCases_] }
        }
        """)
    // The compiler tells the case from the property that it makes itself.
    #expect(camel.declaration("enum F:").contains("case allCases = \"ALL_CASES\"\n"))
    let asWritten = try Sample.shared("query A { b }", schema: schema) { $0.enumCases = .asWritten }
    #expect(asWritten.contains("case RawValue_ = \"RawValue\"\n"))
  }

  @Test func `a case of a kind is not called as the struct in it`() throws {
    let schema = "type Query { a: U } union U = _1 | B type _1 { c: Int } type B { c: Int }"
    let text = try Sample.text("query Q { a { ... on _1 { c } ... on B { c } } }", schema: schema)
    #expect(text.contains("case _1(_1Object)\n"))
    #expect(text.contains("case b(B)\n"))
  }

  @Test func `a member does not have the name of a type that an expression beside it uses`() throws {
    let schema = """
      type Query { a: I b(in: In, file: File): Int }
      interface I { PossibleTypes: Int } interface J implements I { PossibleTypes: Int }
      type A implements I & J { PossibleTypes: Int } type B implements I { PossibleTypes: Int }
      input In { Indirect: Int in: In } input File { CodingKeys: Upload } scalar Upload
      """
    let text = try Sample.text("query Q { a { PossibleTypes ... on J { PossibleTypes } } }", schema: schema)
    #expect(text.contains("let PossibleTypes_: Int?\n"))
    let outer = try Sample.text("query Q { PossibleTypes: __typename a { ... on J { __typename } } }", schema: schema)
    #expect(outer.contains("let PossibleTypes_: String\n"))
    let shared = try Sample.shared("query Q($in: In, $file: File) { b(in: $in, file: $file) }", schema: schema)
    #expect(shared.contains("var Indirect_: GraphQLNullable<Int>\n"))
    #expect(shared.contains("var CodingKeys_: GraphQLNullable<GraphQLUpload>\n"))
  }

  @Test func `words of parameters are in backticks there, and in arguments only if they need it`() throws {
    let text = try Sample.text(
      "query Q($inout: Int, $let: Int, $var: Int) { a(b: $inout, c: $let, d: $var) }",
      schema: "type Query { a(b: Int, c: Int, d: Int): Int }")
    #expect(text.contains("let session = Session(`inout`: `inout`, let: `let`, var: `var`)\n"))
    #expect(text.contains("func q(\n    `inout`: GraphQLNullable<Int> = .absent,\n    `let`: "))
  }

  @Test func `descriptions become comments, whatever ends their lines`() throws {
    let schema =
      "type Query { \"one\\r\\ntwo\\rthree\\n\\nfive \\u2028six */ \" a: Int \"\"\"\n  block\n    inner\n  \"\"\" b: Int }"
    let text = try Sample.text("query A { a b }", schema: schema)
    #expect(
      text.contains(
        """
            /// one
            /// two
            /// three
            ///
            /// five
            /// six */
            public let a: Int?

            /// block
            ///   inner
            public let b: Int?
        """))
  }

  @Test func `a description has no null character, of which the compiler warns`() throws {
    let text = try Sample.text("query A { a }", schema: "type Query { \"one\\u0000 \\u0001two\" a: Int }")
    #expect(text.contains(#"/// one\u{0} \u{1}two"#))
  }

  @Test func `what is deprecated is marked, with its reason in one line, and the code itself does not use it`() throws {
    let schema =
      "type Query { a: Int! @deprecated(reason: \"It is \\\"old\\\":\\nuse b\\\\\") b(c: I): Int } input I { d: Int @deprecated, e: Int }"
    let text = try Sample.text("query A($c: I) { a b(c: $c) }", schema: schema)
    #expect(
      text.contains(
        #"""
            private let _a: Int
            @available(*, deprecated, message: "It is \"old\":\nuse b\\")
            public var a: Int { _a }
        """#))
    #expect(text.contains("self._a = a\n"))
    #expect(text.contains("a: json.int(\"a\")"))
    let shared = try Sample.shared("query A($c: I) { b(c: $c) }", schema: schema)
    #expect(shared.contains("get { _d }"))
    #expect(shared.contains(#"json.member("d", _d)"#))
    let without = try Sample.shared("query A($c: I) { b(c: $c) }", schema: schema) { $0.includesDeprecated = false }
    #expect(!without.contains("d:"))
  }

  @Test func `what is deprecated is left in an enum that would have no cases otherwise`() throws {
    let schema = """
      type Query { a(b: Choice): Kind }
      enum Kind { A @deprecated B @deprecated }
      input Choice @oneOf { c: Int @deprecated d: Int @deprecated }
      """
    let shared = try Sample.shared("query A($b: Choice) { a(b: $b) }", schema: schema) { $0.includesDeprecated = false }
    #expect(shared.contains("  case b = \"B\"\n"))
    #expect(shared.contains("static var allCases: [Kind] { [] }\n"))
    #expect(shared.contains("  case d(Int)\n"))
  }

  @Test func `the module of clients is imported only where a type of it is in the code`() throws {
    func shared(_ type: String) throws -> String {
      let schema =
        "type Query { a(b: GraphQLChoice!): Int } input GraphQLChoice { c: \(type) } input GraphQLOther { d: Int! }"
      return try Sample.shared("query A($b: GraphQLChoice!) { a(b: $b) }", schema: schema)
    }
    #expect(!(try shared("GraphQLOther!")).contains("import GraphQLClient"))
    #expect(try shared("GraphQLOther").contains("public import GraphQLClient\n"))
  }

  @Test func `what is deprecated is stored under a name that no other member has`() throws {
    let schema = "type Query { a: Int @deprecated _a: Int b(c: I): Int } input I { d: Int @deprecated, _d: Int }"
    let text = try Sample.text("query A { a _a }", schema: schema)
    #expect(text.contains("private let _a_: Int?\n"))
    #expect(text.contains("public var a: Int? { _a_ }\n"))
    #expect(text.contains("public let _a: Int?\n"))
    let shared = try Sample.shared("query A($c: I) { b(c: $c) }", schema: schema)
    #expect(shared.contains("private var _d_: GraphQLNullable<Int>\n"))
    #expect(shared.contains("json.member(\"d\", _d_)\n"))
  }

  @Test func `the files are called after the documents, and after their folders where two have one name`() {
    #expect(
      Generator.fileNames(ofDocuments: ["a/User.graphql", "b/Items.gql"]) == ["User.graphql.swift", "Items.gql.swift"])
    #expect(
      Generator.fileNames(ofDocuments: ["x/a/User.graphql", "y/a/user.graphql", "./Other.graphql"])
        == ["x+a+User.graphql.swift", "y+a+user.graphql.swift", "Other.graphql.swift"])
    #expect(
      Generator.fileNames(ofDocuments: ["User.graphql", "a/User.graphql"]) == [
        "User.graphql.swift", "a+User.graphql.swift",
      ])
  }

  @Test(arguments: [
    ["queries/a.graphql", "../queries/a.graphql"], ["x/y.graphql", "z/y.graphql", "x+y.graphql"],
    ["x/y.graphql", "z/y.graphql", "X+y.graphql"], ["a.graphql", "a.graphql"],
  ])
  func `documents that would have one file are an error that names both`(_ names: [String]) throws {
    let documents = names.enumerated().map { GenerationSource(name: $1, text: "query Q\($0) { a }") }
    let schema = GenerationSource(name: "s", text: "type Query { a: Int }")
    let failure = #expect(throws: GenerationFailure.self) {
      try Generator().generate(schema: [schema], documents: documents)
    }
    let last = try #require(names.last)
    let file = try #require(Generator.fileNames(ofDocuments: names).last)
    #expect(
      failure?.description
        == "\(last): error: its file would be \"\(file)\", and so would that of \"\(names[0])\": rename one of the documents"
    )
  }

  @Test func `documents that only case tells apart, on a system where it does, have files that it tells apart`() throws
  {
    let documents = ["a/user.graphql", "a/User.graphql"].map { name in
      GenerationSource(name: name, text: "query \(name.contains("U") ? "A" : "B") { a }")
    }
    let schema = GenerationSource(name: "s", text: "type Query { a: Int }")
    let code = try Generator().generate(schema: [schema], documents: documents)
    #expect(code.files.map(\.name) == ["Schema.graphql.swift", "a+User.graphql.swift", "a+user.graphql.swift"])
  }

  @Test func `access, mutability, equality, isolation and encoding are as the configuration says`() throws {
    let text = try Sample.text("query A { user(id: 1) { id } }") {
      $0.access = .internal
      $0.isMutable = true
      $0.equality = .hashable
      $0.isNonisolated = true
    }
    #expect(text.contains("\nimport GraphQLClient\n"))
    #expect(text.contains("\nnonisolated struct ASession: ASessionType {\n"))
    #expect(text.contains("\nnonisolated extension ASession {\n"))
    #expect(text.contains("struct User: JSONSelection, Hashable, Sendable {\n      var id: String\n"))
    #expect(!text.contains("public"))
    let encodable = try Sample.text("query A { user(id: 1) { id } }") { $0.isEncodable = true }
    #expect(encodable.contains("struct ResponseData: JSONSelection, Decodable, JSONReceived, Sendable {"))
    #expect(encodable.contains("received: json.received()"))
  }
}
