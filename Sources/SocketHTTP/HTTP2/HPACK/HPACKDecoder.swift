import HTTPClientCore
import SystemBase

/// A field of a list of headers as it was received. It may be a pseudo header, or not valid at all.
struct ReceivedField: HPACKEntry {
  let field: HTTPField
  /// How many bytes the name and the value had: fewer or more than their texts have if they are not UTF-8.
  fileprivate let nameCount: Int32
  fileprivate let valueCount: Int32
  /// Whether the name is a token without upper-case letters, possibly behind the colon of a pseudo header (RFC 9113,
  /// section 8.2.1).
  let isNameValid: Bool
  /// Whether the value has no control characters but tabs, and no white space around it (section 8.2.1; RFC 9110, section
  /// 5.5).
  let isValueValid: Bool

  fileprivate init(name: ReceivedText, value: ReceivedText) {
    field = HTTPField(trimmedName: name.text, value: value.text)
    nameCount = name.count
    valueCount = value.count
    isNameValid = name.isValid
    isValueValid = value.isValid
  }

  var size: Int { Int(nameCount) + Int(valueCount) + HPACK.overhead }

  var isPseudo: Bool { field.name.utf8.first == .colon }

  fileprivate var name: ReceivedText { ReceivedText(text: field.name, count: nameCount, isValid: isNameValid) }
}

/// A name or a value as it was received.
private struct ReceivedText {
  let text: String
  let count: Int32
  let isValid: Bool

  init(text: String, count: Int32, isValid: Bool) {
    self.text = text
    self.count = count
    self.isValid = isValid
  }

  init(_ bytes: UnsafeRawBufferPointer, isName: Bool) {
    text = String(decoding: bytes, as: UTF8.self).comparable
    count = Int32(clamping: bytes.count)
    isValid = isName ? bytes.isLowerCaseName : bytes.isTrimmedFieldContent
  }
}

/// A list of headers as it was received.
struct ReceivedFields {
  fileprivate(set) var fields: [ReceivedField] = []
  /// The size of all fields, of those that were dropped, too (RFC 9113, section 6.5.2).
  fileprivate(set) var size = 0
  /// Whether the list is larger than the limits; then the fields are dropped beyond these.
  fileprivate(set) var isTooLarge = false
}

/// Decodes blocks of fields (RFC 7541, section 3), which must be whole, and come in the order in which they were sent.
///
/// An error is one of the connection (RFC 9113, section 4.3): the table is no longer the encoder's. Lists that are too
/// large are not: these change the table as any other.
struct HPACKDecoder {
  private var table: DynamicTable<ReceivedField>
  /// What the encoder may set the size of the table to.
  private var tableLimit: Int
  /// Whether the next block must begin with a new size of the table.
  private var requiresUpdate = false
  private let listLimit: Int
  private let fieldLimit: Int
  private var recent = RecentFields()

  /// The greatest integer that is accepted: anything that is a size or an index here is far below.
  static let largestInteger = 1 << 28

  private static let staticFields = HPACK.staticTable.map {
    ReceivedField(name: ReceivedText($0.name, isName: true), value: ReceivedText($0.value, isName: false))
  }

  /// `listLimit` is the size of a list at most, each field counted as 32 bytes more than name and value; `fieldLimit` the
  /// number of its fields.
  init(tableLimit: Int = HPACK.defaultTableSize, listLimit: Int = 64 << 10, fieldLimit: Int = 256) {
    table = DynamicTable(limit: tableLimit)
    self.tableLimit = tableLimit
    self.listLimit = listLimit
    self.fieldLimit = fieldLimit
  }

  /// Sets the size of the table at most, once the peer has acknowledged it. If that makes the table smaller, the next block
  /// must begin with its new size (RFC 7541, section 4.2).
  mutating func setTableLimit(_ limit: Int) {
    tableLimit = limit
    if limit < table.limit { requiresUpdate = true }
  }

  mutating func decode(_ block: UnsafeRawBufferPointer) throws(HTTP2ConnectionError) -> ReceivedFields {
    var list = ReceivedFields()
    list.fields.reserveCapacity(min(16, fieldLimit))
    var reader = HPACKReader(block)
    while let first = reader.next {
      if first & 0xE0 == 0x20 {
        // Section 4.2: before the first field.
        guard list.size == 0 else { throw .compression("a table size is set in the middle of a block") }
        let limit = try reader.integer(prefix: 5)
        guard limit <= tableLimit else { throw .compression("a table size is larger than was allowed") }
        table.setLimit(limit)
        requiresUpdate = false
        continue
      }
      guard !requiresUpdate else { throw .compression("a block does not begin with the new table size") }
      let field: ReceivedField
      if first & 0x80 != 0 {
        field = try entry(at: try reader.integer(prefix: 7))
      } else {
        let isIndexed = first & 0x40 != 0
        let literal = try reader.literal(prefix: isIndexed ? 6 : 4)
        // Beyond the static table, an index means another name each time.
        let isLasting = literal.index <= Self.staticNames.count
        if isLasting, let known = recent.field(of: literal.bytes) {
          field = known
        } else {
          let name = literal.index == 0 ? try literal.name.text(isName: true) : try name(at: literal.index)
          field = ReceivedField(name: name, value: try literal.value.text(isName: false))
          if isLasting { recent.keep(field, of: literal.bytes) }
        }
        if isIndexed { table.insert(field) }
      }
      list.size += field.size
      if list.size > listLimit || list.fields.count >= fieldLimit {
        list.isTooLarge = true
      } else {
        list.fields.append(field)
      }
    }
    return list
  }

  private static let staticNames = staticFields.map(\.name)

  private func name(at index: Int) throws(HTTP2ConnectionError) -> ReceivedText {
    1...Self.staticNames.count ~= index ? Self.staticNames[index - 1] : try entry(at: index).name
  }

  private func entry(at index: Int) throws(HTTP2ConnectionError) -> ReceivedField {
    let fields = Self.staticFields
    if 1...fields.count ~= index { return fields[index - 1] }
    guard index > 0, index - 1 - fields.count < table.count else {
      throw .compression("an index of a field is beyond the table")
    }
    return table[index - 1 - fields.count]
  }
}

/// Reads integers and strings (RFC 7541, section 5).
private struct HPACKReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// Reads an integer whose first bits are the lowest of the next byte (section 5.1).
  mutating func integer(prefix: Int) throws(HTTP2ConnectionError) -> Int {
    guard let first = next else { throw .truncated }
    position += 1
    let mask = UInt8(1) &<< UInt8(prefix) &- 1
    var value = Int(first & mask)
    guard value == Int(mask) else { return value }
    // Four bytes hold all that is accepted; zeros that lead it need no more.
    for shift in stride(from: 0, to: 35, by: 7) {
      guard let byte = next else { throw .truncated }
      position += 1
      value += Int(byte & 0x7F) << shift
      guard value <= HPACKDecoder.largestInteger else { break }
      if byte & 0x80 == 0 { return value }
    }
    throw .compression("an integer of a block is too large")
  }

  /// Reads a field that is no entry of a table (section 6.2).
  mutating func literal(prefix: Int) throws(HTTP2ConnectionError) -> Literal {
    let start = position
    let index = try integer(prefix: prefix)
    let name = index == 0 ? try string() : EncodedString()
    let value = try string()
    return Literal(
      index: index, name: name, value: value, bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
  }

  /// Reads a string (section 5.2).
  private mutating func string() throws(HTTP2ConnectionError) -> EncodedString {
    let isHuffman = (next ?? 0) & 0x80 != 0
    let count = try integer(prefix: 7)
    guard count <= bytes.count - position else { throw .truncated }
    let string = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    position += count
    return EncodedString(bytes: string, isHuffman: isHuffman)
  }
}

/// A field with a value, and a name unless that is the one of an entry.
private struct Literal {
  /// The index of the entry, or 0.
  let index: Int
  let name: EncodedString
  let value: EncodedString
  /// All of it.
  let bytes: UnsafeRawBufferPointer
}

private struct EncodedString {
  var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  var isHuffman = false

  func text(isName: Bool) throws(HTTP2ConnectionError) -> ReceivedText {
    guard isHuffman else { return ReceivedText(bytes, isName: isName) }
    let decoded = withUnsafeTemporaryAllocation(
      byteCount: Huffman.largestCount(of: bytes.count) + 1, alignment: 1
    ) { buffer -> ReceivedText? in
      guard let size = Huffman.decode(bytes, into: buffer) else { return nil }
      return ReceivedText(UnsafeRawBufferPointer(rebasing: buffer[..<size]), isName: isName)
    }
    guard let decoded else { throw .compression("a string is not in the Huffman code") }
    return decoded
  }
}

/// The literal fields that came last, by their bytes, since servers send most of them again with each response, and some
/// never put them into the table: nginx, for one.
private struct RecentFields {
  private static let slotCount = 64
  private static let longest = 96
  private var encoded = ContiguousArray<[UInt8]>(repeating: [], count: slotCount)
  private var fields = ContiguousArray<ReceivedField?>(repeating: nil, count: slotCount)

  private func slot(of bytes: UnsafeRawBufferPointer) -> Int { Int(bytes.hash(from: 0) % UInt64(Self.slotCount)) }

  func field(of bytes: UnsafeRawBufferPointer) -> ReceivedField? {
    guard bytes.count <= Self.longest else { return nil }
    let slot = slot(of: bytes)
    return encoded[slot].equals(bytes) ? fields[slot] : nil
  }

  mutating func keep(_ field: ReceivedField, of bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.longest else { return }
    let slot = slot(of: bytes)
    (encoded[slot], fields[slot]) = (Array(bytes), field)
  }
}

extension ReceivedText {
  fileprivate init(_ text: String, isName: Bool) {
    let bytes = Array(text.utf8)
    self = bytes.withUnsafeBytes { ReceivedText($0, isName: isName) }
  }
}

extension HTTP2ConnectionError {
  fileprivate static var truncated: Self { .compression("a block ends within a field") }
}

extension UnsafeRawBufferPointer {
  fileprivate var isLowerCaseName: Bool {
    let start = first == .colon ? 1 : 0
    guard start < count else { return false }
    for place in start..<count {
      let byte = self[place]
      guard byte.isTokenByte, !byte.isUpperCase else { return false }
    }
    return true
  }

  fileprivate var isTrimmedFieldContent: Bool {
    guard let first, let last else { return true }
    return !first.isSpaceOrTab && !last.isSpaceOrTab && isFieldContent
  }
}
