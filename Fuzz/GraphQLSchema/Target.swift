/// A text of a schema, a zero byte, and a document: whatever they are, the schema is built, the document validated and
/// executed, and all that is said has its place.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: start, count: count)
  let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
  let limits = SyntaxLimits(tokens: 2000, depth: 50)
  if bytes.first == UInt8(ascii: "{"), let schema = try? Schema(reading: parts[0]) { check(schema) }
  guard let definitions = try? DocumentSyntax(parsing: parts[0], limits: limits) else { return 0 }
  let schema = Schema(definitions)
  for problem in schema.problems {
    precondition(!problem.message.isEmpty && problem.locations.allSatisfy { $0.line > 0 && $0.column > 0 }, "No place.")
  }
  check(schema)
  guard parts.count > 1, let document = try? DocumentSyntax(parsing: parts[1], limits: limits) else { return 0 }
  let errors = schema.validate(document, limit: 20)
  precondition(errors.count <= 21 && errors.allSatisfy { $0.rule == nil || !$0.locations.isEmpty }, "No place.")
  for rule in ValidationRule.allCases {
    let alone = schema.validate(document, rules: [rule], limit: 1000)
    precondition(errors.count > 20 || alone.count == errors.filter { $0.rule == rule }.count, "Another result alone.")
  }
  let executor = Executor(schema) { request in request.field.type.named.kind.isComposite ? .object([:]) : .null }
  for operation in document.operations {
    let result = executor.execute(document, operationName: operation.name?.text)
    precondition(result.data != nil || !result.errors.isEmpty, "No response.")
    for change in schema.changes(to: schema) { fatalError("A schema differs from itself: \(change)") }
  }
  return 0
}

/// A schema without problems is printed so that it is read as the same, and its introspection gives it, too.
private func check(_ schema: Schema) {
  guard schema.problems.isEmpty else { return }
  for order in [Schema.Order.asWritten, .sorted] {
    let printed = schema.printed(order)
    guard let again = try? Schema(parsing: printed) else { fatalError("What was printed is no schema: \(printed)") }
    precondition(again.printed(order) == printed, "Printed in another way.")
  }
  precondition(schema.introspection().errors.isEmpty, "No introspection.")
}
