import Foundation

/// What a test asks of OpenSSL failed.
package struct OpenSSLFailure: Error, CustomStringConvertible {
  package let description: String
}

/// A function of the system's OpenSSL by its name; the caller answers for the type, a `@convention(c)` one.
func openSSL<Function>(_ name: String, as type: Function.Type = Function.self) throws -> Function {
  for library in ["libssl.so.3", "libcrypto.so.3"] {
    if let handle = dlopen(library, RTLD_NOW), let address = dlsym(handle, name) {
      return unsafeBitCast(address, to: type)
    }
  }
  throw OpenSSLFailure(description: "OpenSSL has no \(name)")
}

typealias Handle = OpaquePointer

/// Calls with a handle or two and no more, which are most of them.
func make(_ name: String) throws -> Handle {
  try made(name, openSSL(name, as: (@convention(c) () -> Handle?).self)())
}

func made(_ name: String, _ handle: Handle?) throws -> Handle {
  guard let handle else { throw OpenSSLFailure(description: "\(name) gave nothing") }
  return handle
}

func check(_ name: String, _ status: CInt) throws {
  guard status > 0 else { throw OpenSSLFailure(description: "\(name) gave \(status)") }
}

func call(_ name: String, _ first: Handle, _ second: Handle) throws {
  try check(name, openSSL(name, as: (@convention(c) (Handle?, Handle?) -> CInt).self)(first, second))
}

func part(_ name: String, of handle: Handle) throws -> Handle {
  try made(name, openSSL(name, as: (@convention(c) (Handle?) -> Handle?).self)(handle))
}

func free(_ name: String, _ handle: Handle) {
  let function = try? openSSL(name, as: (@convention(c) (Handle?) -> Void).self)
  function?(handle)
}

/// What a function writes into a BIO.
func written(_ write: (Handle) throws -> Void) throws -> Data {
  let bio = try made("BIO_new", openSSL("BIO_new", as: (@convention(c) (Handle?) -> Handle?).self)(make("BIO_s_mem")))
  defer { free("BIO_free", bio) }
  try write(bio)
  let read: @convention(c) (Handle?, UnsafeMutableRawPointer?, CInt) -> CInt = try openSSL("BIO_read")
  var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  let count = read(bio, &buffer, CInt(buffer.count))
  return Data(buffer.prefix(Int(max(count, 0))))
}

/// Runs a closure with a BIO that reads these bytes.
func withBIO<Result>(over bytes: Data, _ body: (Handle) throws -> Result) throws -> Result {
  let new: @convention(c) (UnsafeRawPointer?, CInt) -> Handle? = try openSSL("BIO_new_mem_buf")
  return try bytes.withUnsafeBytes { bytes in
    let bio = try made("BIO_new_mem_buf", new(bytes.baseAddress, CInt(bytes.count)))
    defer { free("BIO_free", bio) }
    return try body(bio)
  }
}
