/// The Huffman code of strings (RFC 7541, section 5.2 and appendix B).
///
/// The code is canonical: codes of one length follow one another in the order of their symbols. So the lengths say it all.
enum Huffman {
  /// How many bits the code of each byte has, and at last that of the end of the string (EOS).
  private static let lengths: [UInt8] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
  ]

  private static let endOfString = 256
  private static let longest = 30

  private struct Tables {
    /// The code of each symbol, behind its length in the lowest 8 bits.
    var codes = [UInt64](repeating: 0, count: 257)
    /// For each value of 8 bits, the symbol whose code they begin with, in the upper byte, and its length in the lower;
    /// 0 if the code is longer.
    var short = [UInt16](repeating: 0, count: 256)
    /// The symbols in the order of their codes.
    var symbols: [UInt16] = []
    /// For each length, the first code in the highest of 32 bits that is longer, and the place in `symbols` of what would
    /// be the code 0 of that length.
    var limits = [UInt64](repeating: 0, count: longest + 1)
    var offsets = [Int](repeating: 0, count: longest + 1)

    init() {
      symbols = (0...endOfString).sorted { (lengths[$0], $0) < (lengths[$1], $1) }.map(UInt16.init)
      var (code, place) = (UInt32(0), 0)
      for length in 1...longest {
        code <<= 1
        offsets[length] = place - Int(code)
        while place < symbols.count, Int(lengths[Int(symbols[place])]) == length {
          let symbol = Int(symbols[place])
          codes[symbol] = UInt64(code) << 8 | UInt64(length)
          if length <= 8 {
            let first = Int(code) << (8 - length)
            for value in first..<first + (1 << (8 - length)) { short[value] = UInt16(symbol) << 8 | UInt16(length) }
          }
          code += 1
          place += 1
        }
        limits[length] = UInt64(code) << UInt64(32 - length)
      }
    }

    /// The symbol whose code the highest bits are, and the length of the code.
    func first(of bits: UInt64) -> (symbol: Int, length: Int) {
      let entry = short[Int(bits &>> 56)]
      if entry != 0 { return (Int(entry &>> 8), Int(entry & 0xFF)) }
      let code = bits &>> 32
      var length = 9
      while length < longest, code >= limits[length] { length += 1 }
      return (Int(symbols[offsets[length] + Int(code &>> UInt64(32 - length))]), length)
    }
  }

  private static let tables = Tables()

  /// Encodes into memory for as many bytes; returns how many these become, or `nil` if they do not become fewer.
  static func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
    tables.codes.withUnsafeBufferPointer { codes in
      var (bits, count, place) = (UInt64(0), 0, 0)
      for byte in bytes {
        let code = codes[Int(byte)]
        bits = bits &<< (code & 0xFF) | code &>> 8
        count += Int(code & 0xFF)
        guard count >= 32 else { continue }
        guard place + 4 < bytes.count else { return nil }
        count -= 32
        output.storeBytes(
          of: UInt32(truncatingIfNeeded: bits &>> UInt64(count)).bigEndian, toByteOffset: place, as: UInt32.self)
        place += 4
      }
      guard place + (count + 7) / 8 < bytes.count else { return nil }
      while count >= 8 {
        count -= 8
        output[place] = UInt8(truncatingIfNeeded: bits &>> UInt64(count))
        place += 1
      }
      guard count > 0 else { return place }
      // The rest is filled with the highest bits of EOS, which are ones.
      output[place] = UInt8(truncatingIfNeeded: bits &<< UInt64(8 - count)) | 0xFF &>> UInt8(count)
      return place + 1
    }
  }

  /// The greatest number of bytes that so many encoded bytes stand for: no code has fewer than 5 bits.
  static func largestCount(of encoded: Int) -> Int { encoded * 8 / 5 }

  /// Decodes into `output`, which has room for the greatest number of bytes. Returns how many there are, or `nil` if
  /// they are not encoded as section 5.2 has it: if they hold EOS, or end in a padding that is longer than 7 bits or holds
  /// a zero.
  static func decode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
    let tables = tables
    return tables.short.withUnsafeBufferPointer { short in
      // The bits that are next are the highest ones.
      var (bits, count, position, written) = (UInt64(0), 0, 0, 0)
      while true {
        if count <= 32, position + 4 <= bytes.count {
          bits |= UInt64(bytes.integer(at: position)) &<< UInt64(32 - count)
          count += 32
          position += 4
        } else {
          while count <= 56, position < bytes.count {
            bits |= UInt64(bytes[position]) &<< UInt64(56 - count)
            count += 8
            position += 1
          }
        }
        // While there are 8 bits, no code in the short table needs more.
        while count >= 8, case let entry = short[Int(bits &>> 56)], entry != 0, written < output.count {
          output[written] = UInt8(truncatingIfNeeded: entry &>> 8)
          written += 1
          bits &<<= UInt64(entry & 0xFF)
          count -= Int(entry & 0xFF)
        }
        guard count < longest, position < bytes.count else {
          // A code that is long, or the last ones.
          let (symbol, length) = tables.first(of: bits)
          guard length <= count else { break }
          guard symbol != endOfString, written < output.count else { return nil }
          output[written] = UInt8(truncatingIfNeeded: symbol)
          written += 1
          bits &<<= UInt64(length)
          count -= length
          continue
        }
      }
      guard count < 8 else { return nil }
      return count == 0 || bits &>> UInt64(64 - count) == (1 &<< UInt64(count)) - 1 ? written : nil
    }
  }
}
