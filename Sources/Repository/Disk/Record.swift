/// One value in a file; the article <doc:DiskFormat> describes the format.
struct Record {
  static let version: UInt16 = 1
  static let headerLength = 40
  private static let magic: UInt32 = 0x4352_5453

  var key: ArraySlice<UInt8>
  var value: ArraySlice<UInt8>
  var writtenAt: StoreTime
  var isInvalidated: Bool

  /// Why bytes are not a record.
  enum Failure: Error {
    case damaged
    /// A record of an unknown version.
    case otherVersion
  }

  /// The bytes of the file.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.headerLength + key.count + value.count)
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    append(Self.magic)
    append(Self.version)
    append(~Self.version)
    append(UInt32(isInvalidated ? 1 : 0))
    append(UInt32(truncatingIfNeeded: key.count))
    append(UInt64(value.count))
    append(writtenAt.microseconds)
    append(UInt64(0))
    bytes += key
    bytes += value
    let checksum = Self.checksum(bytes)
    withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(32..<40, with: $0) }
    return bytes
  }

  init(key: [UInt8], value: [UInt8], writtenAt: StoreTime, isInvalidated: Bool) {
    self.key = key[...]
    self.value = value[...]
    self.writtenAt = writtenAt
    self.isInvalidated = isInvalidated
  }

  /// Reads the bytes of a file.
  init(_ bytes: [UInt8]) throws(Failure) {
    key = try Self.key(atStartOf: bytes)
    value = bytes[key.endIndex...]
    guard Self.number(bytes, 16, UInt64.self) == UInt64(value.count),
      Self.number(bytes, 32, UInt64.self) == Self.checksum(bytes)
    else { throw .damaged }
    writtenAt = StoreTime(microseconds: Self.number(bytes, 24, Int64.self))
    isInvalidated = Self.number(bytes, 8, UInt32.self) & 1 == 1
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
