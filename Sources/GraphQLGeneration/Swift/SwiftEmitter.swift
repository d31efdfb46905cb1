import GraphQLLanguage

/// Prints the model as Swift.
struct SwiftEmitter {
  let configuration: GenerationConfiguration

  var access: String { configuration.access == .internal ? "" : configuration.access.rawValue + " " }
  /// What is before a type in a file.
  var typeAccess: String { (configuration.isNonisolated ? "nonisolated " : "") + access }
  private var storage: String { configuration.isMutable ? "var" : "let" }
  private var equality: [String] {
    switch configuration.equality {
    case .none: []
    case .equatable: ["Equatable"]
    case .hashable: ["Hashable"]
    }
  }

  init(_ configuration: GenerationConfiguration) {
    self.configuration = configuration
  }

  /// The imports of a file: what is generated shows their types to those who can see it. A conformance alone shows a protocol
  /// only to other packages, and the compiler warns of an import that shows more than that.
  func imports(_ modules: Set<String>, conformances: Set<String>, _ writer: inout SwiftWriter) {
    for module in modules.union(conformances).sorted() {
      let isShown = modules.contains(module) || configuration.access == .public
      writer.line("\(isShown ? access : "")import \(module)")
    }
  }

  // MARK: - Operations

  func session(_ operation: OperationModel, document: String, fragments: [String], _ writer: inout SwiftWriter) {
    sessionType(operation, &writer)
    writer.line()
    writer.documentation(
      "Runs the \(operation.syntax.kind.rawValue) `\(operation.name)` on a GraphQL server."
        + paragraph(operation.documentation))
    writer.block("\(typeAccess)struct \(operation.session): \(operation.session)Type") { writer in
      response(of: operation, &writer)
      writer.line("private let sessionHandler: @Sendable (Session) -> Observable<Response>")
      writer.line()
      writer.documentation(
        "Calls a closure instead of a client, for tests: it gets the request as a value, and returns the response.")
      writer.block("\(access)init(sessionHandler: @escaping @Sendable (Session) -> Observable<Response>)") { writer in
        writer.line("self.sessionHandler = sessionHandler")
      }
      writer.line()
      writer.documentation("Sends requests through a client.")
      writer.block("\(access)init(client: APIClient)") { writer in
        let send =
          switch operation.delivery {
          case .once: "post"
          case .inParts: "responses"
          case .live: "subscribe"
          }
        writer.line("self.init { $0.\(send)(on: client) }")
      }
      writer.line()
      run(operation, &writer)
    }
    writer.line()
    writer.block("\(configuration.isNonisolated ? "nonisolated " : "")extension \(operation.session)") { writer in
      request(operation, document: document, fragments: fragments, &writer)
      writer.line()
      switch operation.data {
      case .own(let model): object(model, isRoot: true, &writer)
      case .fragment(let name):
        writer.documentation("The `data` of the response.")
        writer.line("\(access)typealias ResponseData = \(name)")
      }
    }
  }

  private func paragraph(_ text: String?) -> String { text.map { "\n\n" + $0 } ?? "" }

  /// What the function of an operation gives.
  private func element(of operation: OperationModel, _ prefix: String = "") -> String {
    switch operation.delivery {
    case .once: prefix + "ResponseData"
    case .inParts: "IncrementalResponse<\(prefix)ResponseData>"
    case .live: "LiveEvent<\(prefix)ResponseData>"
    }
  }

  private func parameters(of operation: OperationModel, hasDefaults: Bool) -> [String] {
    (operation.variables?.members ?? []).map { parameter($0, hasDefault: hasDefaults) }
      + (operation.hasUploads ? [Self.progress + (hasDefaults ? " = nil" : "")] : [])
  }

  /// What gets the progress of an exchange with files.
  private static let progress = "onProgress: (@Sendable (HTTPProgress) -> Void)?"

  private func parameter(_ member: InputModel.Member, hasDefault: Bool = true) -> String {
    let value = hasDefault ? member.defaultValue.map { " = \($0)" } ?? "" : ""
    return "\(SwiftNames.parameter(member.name)): \(member.type)\(value)"
  }

  private func sessionType(_ operation: OperationModel, _ writer: inout SwiftWriter) {
    writer.documentation(
      "Runs the \(operation.syntax.kind.rawValue) `\(operation.name)`, from any source."
        + paragraph(operation.documentation))
    writer.block("\(typeAccess)protocol \(operation.session)Type: Sendable") { writer in
      writer.documentation(promise(of: operation))
      writer.list(
        "func \(SwiftNames.escaped(operation.function))", parameters(of: operation, hasDefaults: false),
        " -> Observable<\(element(of: operation, operation.session + "."))>")
    }
  }

  private func promise(of operation: OperationModel) -> String {
    switch operation.delivery {
    case .once: "A cold stream of one complete response; each subscriber makes a new request."
    case .inParts: "A cold stream of the response as it grows; the last one is complete."
    case .live: "A cold stream of results, and of what becomes of the connection."
    }
  }

  private func response(of operation: OperationModel, _ writer: inout SwiftWriter) {
    writer.documentation("What the server sends.")
    let response =
      switch operation.delivery {
      case .once: "GraphQLResponse<ResponseData>"
      case .inParts: "IncrementalResponse<ResponseData>"
      case .live: "LiveEvent<GraphQLResponse<ResponseData>>"
      }
    writer.line("\(access)typealias Response = \(response)")
    writer.line()
  }

  private func run(_ operation: OperationModel, _ writer: inout SwiftWriter) {
    var arguments = (operation.variables?.members ?? []).map { member in
      "\(SwiftNames.label(member.name)): \(SwiftNames.escaped(member.name))"
    }
    if operation.hasUploads { arguments.append("onProgress: onProgress") }
    writer.documentation(promise(of: operation) + " Any GraphQL error fails it.")
    writer.list(
      "\(access)func \(SwiftNames.escaped(operation.function))", parameters(of: operation, hasDefaults: true),
      " -> Observable<\(element(of: operation))> {")
    writer.indented { writer in
      writer.block(".deferred") { writer in
        writer.list("let session = Session", arguments, "")
        switch operation.delivery {
        case .once: writer.line("return sessionHandler(session).map { try session.data(of: $0) }")
        case .inParts:
          writer.line("return sessionHandler(session).do(onNext: { _ = try session.data(of: $0.response) })")
        case .live: writer.line("return sessionHandler(session).map { try $0.map { try session.data(of: $0) } }")
        }
      }
    }
    writer.line("}")
  }

  private func request(
    _ operation: OperationModel, document: String, fragments: [String], _ writer: inout SwiftWriter
  ) {
    writer.documentation("The request.")
    let kind = operation.delivery == .live ? "GraphQLSubscription" : "GraphQLSession"
    writer.block("\(access)struct Session: \(kind)") { writer in
      writer.documentation("The type of `data`.")
      writer.line("\(access)typealias ResponseData = \(operation.session).ResponseData")
      writer.line()
      if let variables = operation.variables {
        input(variables, isNested: true, &writer)
        writer.line()
      }
      writer.documentation("The document.")
      writer.multilineLiteral(
        "\(access)static let query: GraphQLDocument =", document,
        fragments.map { "+ \($0).document" })
      writer.line()
      if operation.variables != nil {
        writer.documentation("The variables of this request.")
        writer.line("\(access)let variables: Variables")
        writer.line()
      }
      writer.documentation("How to treat errors beside data.")
      writer.line("\(access)let errorPolicy: GraphQLErrorPolicy")
      writer.line()
      let isMutation = operation.syntax.kind == .mutation
      if operation.hasUploads {
        writer.documentation("Gets the progress of the exchange, one call at a time.")
        writer.line("\(access)let \(Self.progress)")
        writer.line()
      }
      if isMutation {
        writer.documentation(
          "The idempotency key, with which the request may be sent more than once; `nil` if it may not.")
        writer.line("\(access)let idempotencyKey: String?")
        writer.line()
      }
      writer.documentation("Makes a request.")
      let members = operation.variables?.members ?? []
      let rest =
        ["errorPolicy: GraphQLErrorPolicy = .none"] + (isMutation ? ["idempotencyKey: String? = nil"] : [])
        + (operation.hasUploads ? [Self.progress + " = nil"] : [])
      writer.list("\(access)init", members.map { parameter($0) } + rest, " {")
      writer.indented { writer in
        if !members.isEmpty {
          writer.list(
            "variables = Variables",
            members.map { "\(SwiftNames.label($0.name)): \(SwiftNames.escaped($0.name))" }, "")
        }
        writer.line("self.errorPolicy = errorPolicy")
        if isMutation { writer.line("self.idempotencyKey = idempotencyKey") }
        if operation.hasUploads { writer.line("self.onProgress = onProgress") }
      }
      writer.line("}")
      guard operation.hasUploads else { return }
      writer.line()
      writer.documentation("The standard request, with its progress reported.")
      writer.block("\(access)func makeRequest(_ call: APICall) throws -> HTTPRequest") { writer in
        writer.line("var request = try standardRequest(call)")
        writer.line("request.onProgress = onProgress")
        writer.line("return request")
      }
    }
  }

  // MARK: - Objects

  func fragment(_ fragment: FragmentModel, document: String, _ writer: inout SwiftWriter) {
    guard case .own(let model) = fragment.object else { return }
    object(model, isRoot: true, prefix: typeAccess, &writer) { writer in
      writer.documentation("The text of the fragment, without the fragments that it uses.")
      writer.multilineLiteral("\(access)static let document: GraphQLDocument =", document)
      writer.line()
    }
  }

  /// - Parameters:
  ///   - isRoot: Whether it may be read by itself: the data of a response, or a fragment.
  ///   - head: What comes first in it.
  private func object(
    _ model: StructModel, isRoot: Bool = false, prefix: String? = nil, _ writer: inout SwiftWriter,
    head: (inout SwiftWriter) -> Void = { _ in }
  ) {
    let isReceived = isRoot && configuration.isEncodable
    var conformances = ["JSONSelection"] + (isRoot ? ["Decodable"] : []) + (isReceived ? ["JSONReceived"] : [])
    conformances += equality + ["Sendable"]
    writer.documentation(model.documentation)
    writer.block("\(prefix ?? access)struct \(model.name): \(conformances.joined(separator: ", "))") { writer in
      head(&writer)
      for (index, property) in model.properties.enumerated() {
        if index > 0, property.documentation != nil || property.deprecation != nil { writer.line() }
        declaration(property, &writer)
      }
      writer.line()
      if isReceived {
        writer.documentation("What it was read from, if it was read.")
        writer.line("\(access)let received: ReceivedJSON")
        writer.line()
      }
      let parameters = model.properties.map { property in
        let value = property.defaultValue.map { " = \($0)" } ?? ""
        return "\(SwiftNames.parameter(property.name)): \(property.type)\(value)"
      }
      writer.list("\(access)init", parameters + (isReceived ? ["received: ReceivedJSON = .none"] : []), " {")
      writer.indented { writer in
        for property in model.properties {
          writer.line("self.\(stored(property)) = \(SwiftNames.escaped(property.name))")
        }
        if isReceived { writer.line("self.received = received") }
      }
      writer.line("}")
      writer.line()
      reader(&writer) { writer in
        let arguments = model.properties.map { "\(SwiftNames.label($0.name)): \($0.reading)" }
        let all = arguments + (isReceived ? ["received: json.received()"] : [])
        writer.list("\(all.isEmpty ? "" : "try ")self.init", all, "")
      }
      for nested in model.nested {
        writer.line()
        object(nested, &writer)
      }
      if let kind = model.kind {
        writer.line()
        self.kind(kind, &writer)
      }
    }
  }

  /// The initialiser that reads. Only the witness of its protocol calls it, so it is compiled there, and nowhere else: a
  /// public one would also be compiled for other modules, and the optimiser would put thunks before both. (With `package`,
  /// the compiler of Swift 6.3 refuses its own code.)
  private func reader(_ writer: inout SwiftWriter, _ body: (inout SwiftWriter) -> Void) {
    switch configuration.access {
    case .public: writer.line("@export(implementation) @inline(always)")
    case .internal: writer.line("@inline(always)")
    case .package: break
    }
    writer.block("\(access)init(selecting json: inout JSONReader) throws(JSONError)", body)
  }

  private func stored(_ property: PropertyModel) -> String {
    property.storedName ?? SwiftNames.escaped(property.name)
  }

  private func declaration(_ property: PropertyModel, _ writer: inout SwiftWriter) {
    if let stored = property.storedName { writer.line("private \(storage) \(stored): \(property.type)") }
    writer.documentation(property.documentation)
    writer.deprecation(property.deprecation)
    let name = SwiftNames.escaped(property.name)
    guard let stored = property.storedName else {
      return writer.line("\(access)\(storage) \(name): \(property.type)")
    }
    if configuration.isMutable {
      writer.block("\(access)var \(name): \(property.type)") { writer in
        writer.line("get { \(stored) }")
        writer.line("set { \(stored) = newValue }")
      }
    } else {
      writer.line("\(access)var \(name): \(property.type) { \(stored) }")
    }
  }

  private func kind(_ kind: KindModel, _ writer: inout SwiftWriter) {
    writer.documentation("The types that an object can be of, each with what is selected of it.")
    let conformances = ["JSONSelection"] + equality + ["Sendable"]
    writer.block("\(access)enum \(kind.name): \(conformances.joined(separator: ", "))") { writer in
      for element in kind.cases {
        writer.documentation("A `\(element.type)`.")
        writer.line("case \(SwiftNames.escaped(element.name))(\(element.payload.type))")
        writer.line()
      }
      writer.documentation("Any other type, of which only what is common to all is selected.")
      writer.line("case \(kind.other)(String)")
      writer.line()
      reader(&writer) { writer in
        writer.line("let typename = try json.typename()")
        writer.line("switch typename {")
        for element in kind.cases {
          let type = SwiftWriter.literal(element.type)
          writer.line("case \(type): self = .\(element.name)(try json.fragment())")
        }
        writer.line("default: self = .\(kind.other)(typename)")
        writer.line("}")
      }
      for element in kind.cases {
        guard case .own(let model) = element.payload else { continue }
        writer.line()
        object(model, &writer)
      }
    }
  }

  // MARK: - Types of the schema

  func enumeration(_ model: EnumModel, _ writer: inout SwiftWriter) {
    writer.documentation(model.documentation)
    let conformances =
      ["String", "CaseIterable"] + (model.isInput ? ["Encodable", "JSONEncodable"] : []) + ["Sendable"]
    writer.block("\(typeAccess)enum \(model.name): \(conformances.joined(separator: ", "))") { writer in
      for element in model.cases {
        writer.documentation(element.documentation)
        writer.deprecation(element.deprecation)
        let value = element.name == element.value ? "" : " = \(SwiftWriter.literal(element.value))"
        writer.line("case \(SwiftNames.escaped(element.name))\(value)")
      }
      guard model.cases.contains(where: { $0.deprecation != nil }) else { return }
      // The compiler makes none for an enum with a deprecated case.
      let cases = model.cases.filter { $0.deprecation == nil }.map { ".\(SwiftNames.escaped($0.name))" }
      writer.line()
      writer.documentation("The values that are not deprecated.")
      writer.line("\(access)static var allCases: [\(model.name)] { [\(cases.joined(separator: ", "))] }")
    }
  }

  func input(_ model: InputModel, isNested: Bool = false, _ writer: inout SwiftWriter) {
    writer.documentation(model.documentation)
    let protocols = model.hasUploads ? ["Encodable"] : ["JSONInputObject"]
    let conformances = (protocols + (model.hasUploads ? [] : equality) + ["Sendable"]).joined(separator: ", ")
    let prefix = isNested ? access : typeAccess
    if model.isOneOf { return oneOf(model, prefix, conformances, &writer) }
    writer.block("\(prefix)struct \(model.name): \(conformances)") { writer in
      for (index, member) in model.members.enumerated() {
        if index > 0, member.documentation != nil || member.deprecation != nil { writer.line() }
        declaration(member, &writer)
      }
      writer.line()
      writer.list("\(access)init", model.members.map { parameter($0) }, " {")
      writer.indented { writer in
        for member in model.members {
          let value = SwiftNames.escaped(member.name)
          writer.line("self.\(stored(member)) = \(member.isIndirect ? "Indirect(wrappedValue: \(value))" : value)")
        }
      }
      writer.line("}")
      writer.line()
      if model.hasUploads {
        encodeWithUploads(model, &writer)
      } else {
        encode(model, &writer)
      }
    }
  }

  private func stored(_ member: InputModel.Member) -> String { member.storedName ?? SwiftNames.escaped(member.name) }

  /// The value of a member, where the code itself does not use what is deprecated. (For one that is kept elsewhere, a property
  /// wrapper would not do in a type that is `nonisolated`.)
  private func value(of member: InputModel.Member) -> String {
    member.isIndirect ? stored(member) + ".wrappedValue" : stored(member)
  }

  private func declaration(_ member: InputModel.Member, _ writer: inout SwiftWriter) {
    if let stored = member.storedName {
      writer.line("private var \(stored): \(member.isIndirect ? "Indirect<\(member.type)>" : member.type)")
    }
    writer.documentation(member.documentation)
    writer.deprecation(member.deprecation)
    let head = "\(access)var \(SwiftNames.escaped(member.name)): \(member.type)"
    guard member.storedName != nil else { return writer.line(head) }
    writer.block(head) { writer in
      writer.line("get { \(value(of: member)) }")
      writer.line("set { \(value(of: member)) = newValue }")
    }
  }

  /// Files are found by an encoder alone.
  private func encodeWithUploads(_ model: InputModel, _ writer: inout SwiftWriter) {
    codingKeys(model, &writer)
    writer.line()
    writer.block("\(access)func encode(to encoder: any Encoder) throws") { writer in
      writer.line("var container = encoder.container(keyedBy: CodingKeys.self)")
      for member in model.members {
        let function = member.isLeftOut ? "encodeIfPresent" : "encode"
        let name = value(of: member)
        writer.line(
          "try container.\(function)(\(["container", "encoder"].contains(name) ? "self." : "")\(name), "
            + "forKey: .\(SwiftNames.escaped(member.name)))")
      }
    }
  }

  private func codingKeys(_ model: InputModel, _ writer: inout SwiftWriter) {
    writer.block("private enum CodingKeys: String, CodingKey") { writer in
      for member in model.members {
        writer.line("case \(SwiftNames.escaped(member.name)) = \(SwiftWriter.literal(member.key))")
      }
    }
  }

  private func encode(_ model: InputModel, _ writer: inout SwiftWriter) {
    writer.block("\(access)func encode(to json: inout JSONWriter)") { writer in
      writer.line("json.beginObject()")
      for member in model.members {
        let label = member.isLeftOut ? "ifPresent: " : ""
        let name = value(of: member)
        let key = SwiftWriter.literal(member.key)
        writer.line("json.member(\(key), \(label)\(name == "json" ? "self." : "")\(name))")
      }
      writer.line("json.endObject()")
    }
  }

  private func oneOf(_ model: InputModel, _ prefix: String, _ conformances: String, _ writer: inout SwiftWriter) {
    writer.block("\(prefix)\(model.isRecursive ? "indirect " : "")enum \(model.name): \(conformances)") { writer in
      for member in model.members {
        writer.documentation(member.documentation)
        writer.line("case \(SwiftNames.escaped(member.name))(\(member.type))")
        writer.line()
      }
      if model.hasUploads {
        codingKeys(model, &writer)
        writer.line()
        writer.block("\(access)func encode(to encoder: any Encoder) throws") { writer in
          writer.line("var container = encoder.container(keyedBy: CodingKeys.self)")
          writer.line("switch self {")
          for member in model.members {
            writer.line("case .\(member.name)(let value): try container.encode(value, forKey: .\(member.name))")
          }
          writer.line("}")
        }
        return
      }
      writer.block("\(access)func encode(to json: inout JSONWriter)") { writer in
        writer.line("json.beginObject()")
        writer.line("switch self {")
        for member in model.members {
          let key = SwiftWriter.literal(member.key)
          writer.line("case .\(member.name)(let value): json.member(\(key), value)")
        }
        writer.line("}")
        writer.line("json.endObject()")
      }
    }
  }

  /// The types that objects of abstract types can be.
  func typeSets(_ sets: [(name: String, types: [String])], _ writer: inout SwiftWriter) {
    writer.documentation("The objects that abstract types can be, which fragments ask for.")
    let usable = configuration.access == .public ? "@usableFromInline " : ""
    writer.block("\(usable)\(configuration.isNonisolated ? "nonisolated " : "")enum PossibleTypes") { writer in
      for set in sets {
        let types = set.types.map(SwiftWriter.literal).joined(separator: ", ")
        writer.line("\(usable)static let \(SwiftNames.escaped(set.name)): Set<String> = [\(types)]")
      }
    }
  }
}
