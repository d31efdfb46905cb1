/// The name of a record's file: a 128-bit hash of its key as 32 hexadecimal digits, and the format's version. Hashing
/// keeps the file in the folder, whatever the key contains; the key itself is in the record.
struct RecordName: Hashable, CustomStringConvertible {
  private static let suffix = ".r\(Record.version)"

  private let hash: UInt128

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
