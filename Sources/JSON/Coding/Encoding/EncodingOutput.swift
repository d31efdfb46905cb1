import Foundation

/// What one or more encoders write into, front to back.
///
/// Values are written as they come. A nested container may be written into while others are, so that each gets an output
/// of its own, which is put in its place at the end.
final class EncodingOutput {
  // A pointer, so that no access is checked at run time: encoders are used by one thread, and each access ends before
  // another begins.
  let writer: UnsafeMutablePointer<JSONWriter>
  let options: JSONCoder.Options
  private var nested: [(offset: Int, encoder: StreamEncoder)] = []
  private let ways: SharedTypeCache<EncodingWay>
  private var knownWays = TypeCache<EncodingWay>()

  init(options: JSONCoder.Options, ways: SharedTypeCache<EncodingWay>, depth: Int = 0) {
    self.options = options
    self.ways = ways
    writer = .allocate(capacity: 1)
    writer.initialize(to: JSONWriter(capacity: depth == 0 ? 1024 : 64))
    writer.pointee.depth = depth
  }

  deinit {
    writer.deinitialize(count: 1)
    writer.deallocate()
  }

  /// How values of a type are written.
  @inline(__always)
  func way<Value: Encodable>(of type: Value.Type) -> EncodingWay {
    if let way = knownWays[type] { return way }
    let way = ways[type]
    knownWays[type] = way
    return way
  }

  /// An output for what stands inside, of its own.
  func inside() -> EncodingOutput {
    EncodingOutput(options: options, ways: ways, depth: writer.pointee.depth)
  }

  /// Leaves a place here for what an encoder writes into its own output.
  func nest(_ encoder: StreamEncoder) {
    writer.pointee.separate()
    nested.append((writer.pointee.count, encoder))
  }

  /// A moment to go back to, should what follows fail.
  struct Mark {
    fileprivate let writer: JSONWriter.Mark
    fileprivate let nested: Int
  }

  var mark: Mark { Mark(writer: writer.pointee.mark, nested: nested.count) }

  func goBack(to mark: Mark) {
    writer.pointee.goBack(to: mark.writer)
    nested.removeSubrange(mark.nested...)
  }

  /// The whole, once all is written.
  func finish() throws(JSONError) -> Data {
    guard !nested.isEmpty else { return try writer.move().finishAndRefill(writer) }
    var whole = JSONWriter(capacity: writer.pointee.count * 2)
    try append(to: &whole)
    return try whole.finish()
  }

  private func append(to whole: inout JSONWriter) throws(JSONError) {
    if let failure = writer.pointee.failure { throw failure }
    var start = 0
    for (offset, encoder) in nested {
      whole.append(writer.pointee.buffer + start, count: offset - start)
      encoder.close()
      try encoder.output.append(to: &whole)
      start = offset
    }
    whole.append(writer.pointee.buffer + start, count: writer.pointee.count - start)
    nested = []
  }
}

extension JSONWriter {
  /// A moment to go back to.
  struct Mark {
    fileprivate let count: Int
    fileprivate let depth: Int
    fileprivate let needsComma: Bool
  }

  var mark: Mark { Mark(count: count, depth: depth, needsComma: needsComma) }

  mutating func goBack(to mark: Mark) {
    count = mark.count
    depth = mark.depth
    needsComma = mark.needsComma
    failure = nil
  }

  /// The text, with an empty writer put where this one was.
  fileprivate consuming func finishAndRefill(_ place: UnsafeMutablePointer<JSONWriter>) throws(JSONError) -> Data {
    place.initialize(to: JSONWriter(capacity: 16))
    return try finish()
  }
}
