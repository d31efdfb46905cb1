import HTTPClientCore
import SystemBase

/// An address that a socket can connect to.
struct SocketAddress: Hashable, Sendable {
  /// The family, such as `AF_INET6`.
  let family: Int32

  /// The `sockaddr` of that family, as it is in memory.
  private let bytes: [UInt8]

  /// Copies an address.
  init(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
    family = Int32(address.pointee.sa_family)
    bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(length)))
  }

  /// The address of a Unix domain socket; `nil` if the path is empty, too long for the system, or contains a NUL.
  init?(unixPath path: String) {
    var address = sockaddr_un()
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard !path.isEmpty, path.utf8.count < room, !path.utf8.contains(0) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    family = AF_UNIX
    bytes = withUnsafeBytes(of: address) { Array($0) }
  }

  /// The address of a host given as a numeric address; `nil` for a name.
  init?(numericHost host: String, port: Int) {
    guard case .success(let addresses) = Self.lookUp(host, port: port, flags: AI_NUMERICHOST) else { return nil }
    guard let first = addresses.first else { return nil }
    self = first
  }

  /// Calls a closure with the address, for a system call.
  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    // Copied, so that it has the alignment that the system expects.
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes.prefix($0.count)) }
    return withUnsafePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
    }
  }

  /// All addresses of a host, in the order to try them (RFC 6724). May block for a long time.
  static func lookUp(_ host: String, port: Int, flags: Int32 = 0) -> Result<[SocketAddress], LookUpError> {
    var hints = addrinfo()
    hints.ai_flags = flags | AI_NUMERICSERV
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = StreamSocket.type
    hints.ai_protocol = Int32(IPPROTO_TCP)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { return .failure(LookUpError(code: code, systemCode: errno)) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = entry.ai_addr { addresses.append(SocketAddress(address, length: entry.ai_addrlen)) }
      next = entry.ai_next
    }
    return .success(addresses)
  }

  /// Why a look-up failed.
  struct LookUpError: Error, CustomStringConvertible {
    let code: Int32
    let systemCode: Int32

    /// The error of the system call that failed, if that is the reason.
    var systemError: SystemError? { code == EAI_SYSTEM ? SystemError(code: systemCode) : nil }

    /// The system's message.
    var description: String { systemError?.description ?? String(cString: gai_strerror(code)) }
  }
}

extension SocketAddress: CustomStringConvertible {
  /// The numeric address, or the path.
  var description: String {
    guard family != AF_UNIX else {
      return String(decoding: bytes.dropFirst(2).prefix { $0 != 0 }, as: UTF8.self)
    }
    var name = [CChar](repeating: 0, count: 64)
    let length = socklen_t(name.count)
    let code = withPointer { getnameinfo($0, $1, &name, length, nil, 0, NI_NUMERICHOST) }
    return code == 0 ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "?"
  }
}
