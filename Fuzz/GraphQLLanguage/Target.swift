/// Any bytes are a document or give an error with a place in them; what was parsed is printed the same again, with and
/// without its comments.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  do {
    let document = try DocumentSyntax(parsing: bytes, limits: SyntaxLimits(tokens: 2000, depth: 50))
    check(document)
  } catch {
    precondition(
      !error.message.isEmpty && error.location.line > 0 && error.location.column > 0, "An error without a place.")
  }
  if let text = String(validating: bytes, as: UTF8.self) {
    if let coordinate = try? SchemaCoordinate(parsing: text) {
      precondition(coordinate.description == text, "Another coordinate.")
    }
    if StringLiteral.isPrintableAsBlock(text) { checkString(StringLiteral.block(text), is: text) }
    checkString(StringLiteral.quoted(text), is: text)
  }
  return 0
}

private func check(_ document: DocumentSyntax) {
  for keepingComments in [false, true] {
    let printed = document.printed(keepingComments: keepingComments)
    do {
      let again = try DocumentSyntax(parsing: printed)
      precondition(again.printed(keepingComments: keepingComments) == printed, "Printed in another way.")
      precondition(again.printed() == document.printed(), "Another document.")
    } catch {
      fatalError("What was printed is no document: \(error)")
    }
  }
  for id in 0..<UInt32(document.nodeCount) {
    let node = document.node(id)
    precondition(node.range.upperBound <= document.source.utf8.count && node.location.column > 0, "No place.")
  }
}

private func checkString(_ literal: String, is text: String) {
  guard case .string(let string)? = try? ValueSyntax(parsing: literal).kind, string.value == text else {
    fatalError("Another string.")
  }
}
