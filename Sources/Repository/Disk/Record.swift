/// One value in a file, as the article <doc:DiskFormat> has it.
struct Record {
  static let version: UInt16 = 1
  static let headerLength = 40
  private static let magic: UInt32 = 0x4352_5453

  var key: ArraySlice<UInt8>
  var value: ArraySlice<UInt8>
  var writtenAt: StoreTime
  var isInvalidated: Bool

  /// What bytes are that are not a record.
  enum Failure: Error {
    case damaged
    /// A record of a version that is not known here.
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
    guard bytes.count >= Self.headerLength, Self.number(bytes, 0, UInt32.self) == Self.magic else { throw .damaged }
    let version = Self.number(bytes, 4, UInt16.self)
    guard version == ~Self.number(bytes, 6, UInt16.self) else { throw .damaged }
    guard version == Self.version else { throw .otherVersion }
    let (keyLength, valueLength) = (Self.number(bytes, 12, UInt32.self), Self.number(bytes, 16, UInt64.self))
    let rest = UInt64(bytes.count - Self.headerLength)
    guard UInt64(keyLength) <= rest, valueLength == rest - UInt64(keyLength),
      Self.number(bytes, 32, UInt64.self) == Self.checksum(bytes)
    else { throw .damaged }
    let valueStart = Self.headerLength + Int(keyLength)
    key = bytes[Self.headerLength..<valueStart]
    value = bytes[valueStart...]
    writtenAt = StoreTime(microseconds: Self.number(bytes, 24, Int64.self))
    isInvalidated = Self.number(bytes, 8, UInt32.self) & 1 == 1
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
