import StrictJSON

/// What a cache holds of a field: a kind, and where the rest of it is. 16 bytes, so that a table of them is compared
/// and copied without a look at anything else.
struct Slot: Sendable, BitwiseCopyable {
  enum Kind: UInt8 {
    /// Nothing is known.
    case missing
    case null
    /// `null` in place of a value that the server failed to give: no answer to anyone who reads it.
    case error
    /// Bytes of a chunk: a value without subfields, also an array or object of a custom scalar.
    case scalar
    /// An entity; `offset` is its number.
    case reference
    /// Cells of a chunk, one an element.
    case list
    /// Cells of a chunk, one a field: an object without a key, which is a part of its parent.
    case object
    /// Cells of a chunk, as those of an object: pages of a list, see `RecordPages`.
    case pages

    var hasCells: Bool { self == .list || self == .object || self == .pages }
  }

  /// The kind in the lowest three bits, then a bit for `isPartial`; the field from bit 8 on, if it is a cell of an
  /// object.
  private var head: UInt32
  /// The number of the chunk; 0 if there is none.
  var chunk: UInt32
  var offset: UInt32
  var count: UInt32

  static let missing = Slot(.missing)

  init(_ kind: Kind, isPartial: Bool = false, chunk: UInt32 = 0, offset: Int = 0, count: Int = 0) {
    head = UInt32(kind.rawValue) | (isPartial ? 8 : 0)
    self.chunk = chunk
    self.offset = UInt32(truncatingIfNeeded: offset)
    self.count = UInt32(truncatingIfNeeded: count)
  }

  // The bits are those of a kind, whose raw values are its bits: only the initialiser sets them.
  @inline(__always)
  var kind: Kind { unsafeBitCast(UInt8(truncatingIfNeeded: head & 7), to: Kind.self) }

  /// Whether an error is in a list or object, in place of a value.
  var isPartial: Bool { head & 8 != 0 || kind == .error }

  /// The number of the field, in a cell of an object.
  var field: UInt32 {
    get { head >> 8 }
    set { head = head & 0xFF | newValue << 8 }
  }

  /// Whether there is no value that a read may give.
  var isUnanswered: Bool { kind == .missing || kind == .error }

  /// Whether it points to bytes or cells of its chunk.
  var hasMemory: Bool { kind == .scalar || kind.hasCells && count > 0 }

  var cells: Range<Int> { Int(offset)..<(Int(offset) + Int(count)) }

  /// How many different fields a cache can know: what 24 bits count.
  static var fieldLimit: Int { 1 << 24 }
}

/// The bytes of a response, and the cells of its lists and embedded objects: what slots point to.
///
/// Unchecked, since the cells are written, by the operation on a cache that makes the chunk, before that ends, as its bytes
/// may be. Afterwards, a chunk never changes.
final class Chunk: @unchecked Sendable {
  private let text: PaddedBytes
  let bytes: UnsafeMutablePointer<UInt8>
  var cells: ContiguousArray<Slot> = []

  var count: Int { text.count }

  /// The bytes after the last that may be read. Said here once more, since the compiler looks up what another module says
  /// for each field that is read.
  static var padding: Int { 32 }

  /// The chunk of what needs none: it has the texts of the truth values.
  static let none = Chunk(PaddedBytes("truefalse".utf8.span.bytes))

  /// Adds cells behind the others, and returns the place of the first. In a method, because the compiler fails under the
  /// thread sanitizer where cells are added through a value that cannot be copied.
  func add(_ cells: UnsafeBufferPointer<Slot>) -> Int {
    defer { self.cells.append(contentsOf: cells) }
    return self.cells.count
  }

  /// Makes a chunk of a number of bytes, which are zero.
  convenience init(count: Int) { self.init(PaddedBytes(count: count)) }

  /// Keeps bytes.
  init(_ text: PaddedBytes) {
    precondition(Self.padding <= PaddedBytes.padding, "What may be read is there.")
    (self.text, bytes) = (text, text.start)
  }

  /// How much memory it takes, roughly.
  var size: Int { count + cells.count * MemoryLayout<Slot>.stride }
}

/// Where the bytes of a chunk are, without a count of those who hold it.
///
/// Unchecked, since a pointer may be used anywhere: it is kept beside its chunk, and only read.
struct ChunkStart: @unchecked Sendable, BitwiseCopyable {
  let bytes: UnsafePointer<UInt8>
}
