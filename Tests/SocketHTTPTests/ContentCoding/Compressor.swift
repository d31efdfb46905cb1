import Foundation

/// Makes compressed bodies with the system's zlib.
enum Compressor {
  /// Fitted with zlib's wrapping (RFC 1950).
  static func zlib(_ data: Data) throws -> Data {
    let compressBound: @convention(c) (CUnsignedLong) -> CUnsignedLong = try function("compressBound")
    let compress:
      @convention(c) (
        UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CUnsignedLong>, UnsafePointer<UInt8>?, CUnsignedLong, CInt
      ) -> CInt = try function("compress2")
    var count = compressBound(CUnsignedLong(data.count))
    var result = Data(count: Int(count))
    let status = result.withUnsafeMutableBytes { target in
      data.withUnsafeBytes { source in
        compress(
          target.bindMemory(to: UInt8.self).baseAddress, &count, source.bindMemory(to: UInt8.self).baseAddress,
          CUnsignedLong(source.count), 6)
      }
    }
    guard status == 0 else { throw CompressorError.status(status) }
    return result.prefix(Int(count))
  }

  /// Without any wrapping (RFC 1951).
  static func raw(_ data: Data) throws -> Data {
    Data(try zlib(data).dropFirst(2).dropLast(4))
  }

  /// One member of a gzip file (RFC 1952).
  static func gzip(_ data: Data) throws -> Data {
    let crc32: @convention(c) (CUnsignedLong, UnsafePointer<UInt8>?, CUnsignedInt) -> CUnsignedLong =
      try function("crc32")
    let checksum = data.withUnsafeBytes {
      data.isEmpty ? 0 : crc32(0, $0.bindMemory(to: UInt8.self).baseAddress, CUnsignedInt($0.count))
    }
    let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    return try header + raw(data) + littleEndian(UInt32(checksum)) + littleEndian(UInt32(data.count))
  }

  private static func littleEndian(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian, Array.init)
  }

  private static func function<Function>(_ name: String) throws -> Function {
    guard let library = dlopen("libz.so.1", RTLD_NOW), let address = dlsym(library, name) else {
      throw CompressorError.missing(name)
    }
    return unsafeBitCast(address, to: Function.self)
  }
}

enum CompressorError: Error {
  case missing(String)
  case status(CInt)
}
