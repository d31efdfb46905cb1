/// One value in a file; the article <doc:DiskFormat> describes the format.
struct Record {
  static let version: UInt16 = 1
  static let headerLength = 40
  private static let magic: UInt32 = 0x4352_5453

  var key: ArraySlice<UInt8>
  var value: ArraySlice<UInt8>
  var writtenAt: StoreTime
  var isInvalidated: Bool
  /// Zero in an entry of an outbox, and in what was written before there were versions.
  var version = EntryVersion.zero

  private enum Flag {
    static let isInvalidated: UInt32 = 1
    /// The value is followed by a version.
    static let hasVersion: UInt32 = 2
  }

  private static let versionLength = 16

  /// Why bytes are not a record.
  enum Failure: Error {
    case damaged
    /// A record of an unknown version.
    case otherVersion
  }

  /// The bytes of the file.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.headerLength + key.count + value.count + Self.versionLength)
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    append(Self.magic)
    append(Self.version)
    append(~Self.version)
    append((isInvalidated ? Flag.isInvalidated : 0) | (version == .zero ? 0 : Flag.hasVersion))
    append(UInt32(truncatingIfNeeded: key.count))
    append(UInt64(value.count))
    append(writtenAt.microseconds)
    append(UInt64(0))
    bytes += key
    bytes += value
    if version != .zero {
      append(version.time)
      append(version.writer)
    }
    let checksum = Self.checksum(bytes)
    withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(32..<40, with: $0) }
    return bytes
  }

  init(
    key: [UInt8], value: [UInt8], writtenAt: StoreTime, isInvalidated: Bool, version: EntryVersion = .zero
  ) {
    self.key = key[...]
    self.value = value[...]
    self.writtenAt = writtenAt
    self.isInvalidated = isInvalidated
    self.version = version
  }

  /// Reads the bytes of a file.
  init(_ bytes: [UInt8]) throws(Failure) {
    key = try Self.key(atStartOf: bytes)
    let flags = Self.number(bytes, 8, UInt32.self)
    let hasVersion = flags & Flag.hasVersion != 0
    let end = bytes.count - (hasVersion ? Self.versionLength : 0)
    guard end >= key.endIndex else { throw .damaged }
    value = bytes[key.endIndex..<end]
    guard Self.number(bytes, 16, UInt64.self) == UInt64(value.count),
      Self.number(bytes, 32, UInt64.self) == Self.checksum(bytes)
    else { throw .damaged }
    writtenAt = StoreTime(microseconds: Self.number(bytes, 24, Int64.self))
    isInvalidated = flags & Flag.isInvalidated != 0
    if hasVersion {
      version = EntryVersion(
        time: Self.number(bytes, end, Int64.self), writer: Self.number(bytes, end + 8, UInt64.self))
    }
  }

  /// The key in the first bytes of a file. The checksum is not verified: that would take all bytes.
  static func key(atStartOf bytes: [UInt8]) throws(Failure) -> ArraySlice<UInt8> {
    guard bytes.count >= headerLength, number(bytes, 0, UInt32.self) == magic else { throw .damaged }
    let version = number(bytes, 4, UInt16.self)
    guard version == ~number(bytes, 6, UInt16.self) else { throw .damaged }
    guard version == Self.version else { throw .otherVersion }
    let length = Int(number(bytes, 12, UInt32.self))
    guard length <= bytes.count - headerLength else { throw .damaged }
    return bytes[headerLength..<headerLength + length]
  }

  /// How many bytes the record takes that others may follow; `nil` if these are too few.
  static func length(atStartOf bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count >= headerLength else { return nil }
    let head = Array(bytes.prefix(headerLength))
    let hasVersion = number(head, 8, UInt32.self) & Flag.hasVersion != 0
    let value = number(head, 16, UInt64.self)
    guard value <= UInt64(bytes.count) else { return nil }
    let length = headerLength + Int(number(head, 12, UInt32.self)) + Int(value) + (hasVersion ? versionLength : 0)
    return length <= bytes.count ? length : nil
  }

  private static func number<Number: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, _: Number.Type) -> Number {
    bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { bytes in
      var checksum = Checksum()
      checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<32]))
      checksum.add(UnsafeRawBufferPointer(rebasing: bytes[headerLength...]))
      return checksum.value
    }
  }
}

/// The name of a record's file: a 128-bit hash of its key as 32 hexadecimal digits, and the format's version. Hashing
/// keeps the file in the folder, whatever the key contains; the key itself is in the record.
struct RecordName: Hashable, CustomStringConvertible {
  private static let suffix = ".r\(Record.version)"

  let hash: UInt128

  /// The name for a key: FNV-1a, 128 bits.
  init(hashing bytes: some Sequence<UInt8>) {
    var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    for byte in bytes { hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b }
    self.hash = hash
  }

  /// Parses a file's name; `nil` if it is not of this format.
  init?(_ name: String) {
    guard name.hasSuffix(Self.suffix), let hash = UInt128(name.dropLast(Self.suffix.count), radix: 16) else {
      return nil
    }
    self.hash = hash
    guard description == name else { return nil }
  }

  /// Whether a file's name is that of a record of another version.
  static func isOtherVersion(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 32, parts[1].first == "r", Int(parts[1].dropFirst()) != nil else {
      return false
    }
    return "." + parts[1] != suffix
  }

  var hexadecimal: String {
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }

  var description: String { hexadecimal + Self.suffix }
}

/// A 64-bit checksum that detects every change within one 8-byte word, so every flipped bit. It does not protect
/// against deliberate changes.
///
/// Each step is a bijection of the state for a given word, and of the word for a given state: two inputs of the same
/// length that differ in a single word have different states from there to the end.
struct Checksum {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Adds bytes, as little-endian words of 8 bytes, the last padded with zeros, and then their number.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    let whole = bytes.count & ~7
    var position = 0
    while position < whole {
      add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
      position += 8
    }
    var last: UInt64 = 0
    for index in (whole..<bytes.count).reversed() { last = last << 8 | UInt64(bytes[index]) }
    add(last)
    add(UInt64(bytes.count))
  }

  private mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0xFF51_AFD7_ED55_8CCD
    value ^= value >> 32
  }
}
