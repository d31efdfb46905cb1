/// The type of a stream socket, and flags for it: numbers, which glibc has as an enumeration. Darwin has no such flags.
package enum StreamSocket {
  #if canImport(Glibc)
    package static let type = Int32(SOCK_STREAM.rawValue)
    package static let closesOnExec = Int32(SOCK_CLOEXEC.rawValue)
    package static let neverBlocks = Int32(SOCK_NONBLOCK.rawValue)
  #elseif canImport(Musl)
    package static let type = SOCK_STREAM
    package static let closesOnExec = SOCK_CLOEXEC
    package static let neverBlocks = SOCK_NONBLOCK
  #else
    package static let type = SOCK_STREAM
  #endif
}
