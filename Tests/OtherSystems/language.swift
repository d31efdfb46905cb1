@_extern(c) func write_bytes(_ bytes: UnsafePointer<UInt8>?, _ count: Int)

/// Parses a document, and writes it as it is printed, or why it cannot be parsed.
@c(print_document) public func printDocument(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
  var text: String
  do {
    text = try DocumentSyntax(parsing: [UInt8](UnsafeBufferPointer(start: bytes, count: count))).printed()
  } catch {
    text = error.description
  }
  text.withUTF8 { write_bytes($0.baseAddress, $0.count) }
}
