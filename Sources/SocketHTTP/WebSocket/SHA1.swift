/// SHA-1 (FIPS 180-4, section 6.1), with which a server shows that it has understood an upgrade (RFC 6455, section
/// 1.3). It protects nothing, so that it is broken does not matter here.
enum SHA1 {
  /// The 20 bytes of the hash.
  static func hash(_ message: some Collection<UInt8>) -> [UInt8] {
    var bytes = Array(message)
    let bitCount = UInt64(bytes.count) * 8
    bytes.append(0x80)
    while bytes.count % 64 != 56 { bytes.append(0) }
    withUnsafeBytes(of: bitCount.bigEndian) { bytes.append(contentsOf: $0) }

    var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    for block in stride(from: 0, to: bytes.count, by: 64) { add(bytes[block..<block + 64], to: &hash) }
    return hash.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
  }

  private static func add(_ block: ArraySlice<UInt8>, to hash: inout [UInt32]) {
    var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
      block[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    for index in 16..<80 {
      words.append((words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]).rotated(by: 1))
    }
    var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
    for (index, word) in words.enumerated() {
      let (mixed, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: (b & c | ~b & d, 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = a.rotated(by: 5) &+ mixed &+ e &+ constant &+ word
      (a, b, c, d, e) = (next, a, b.rotated(by: 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { hash[index] &+= word }
  }
}

extension UInt32 {
  fileprivate func rotated(by count: UInt32) -> UInt32 { self << count | self >> (32 - count) }
}
