import BenchmarkSupport
import Foundation

/// An nginx that serves bodies of zeros, in HTTP/1.1 and in HTTP/2, in clear text and with TLS.
struct Nginx {
  private let folder: URL
  let certificateFiles: ServerCertificate
  private let process: Process
  private let ports: (http1: UInt16, http2: UInt16, secure: UInt16)

  var certificate: String { certificateFiles.certificate }

  /// The size of the file `large`.
  static let largeSize = 1 << 30

  /// Starts it; `nil` if it is not installed.
  init?() throws {
    let path = "/usr/sbin/nginx"
    guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
    folder = FileManager.default.temporaryDirectory.appending(path: "TransportBenchmarks.nginx.\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The worker has another user.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path())
    for size in [300, 20_000] { try Data(count: size).write(to: folder.appending(path: "\(size)")) }
    let large = folder.appending(path: "large")
    try Data().write(to: large)
    try FileHandle(forWritingTo: large).truncate(atOffset: UInt64(Self.largeSize))
    certificateFiles = try ServerCertificate()
    ports = try (freePort(), freePort(), freePort())
    let configuration = folder.appending(path: "nginx.conf")
    try Data(Self.configuration(folder.path(), certificateFiles, ports).utf8).write(to: configuration)
    process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = ["-e", "stderr", "-p", folder.path(), "-c", configuration.path()]
    process.standardError = FileHandle.nullDevice
    try process.run()
    while !isListening(ports.secure) { usleep(10_000) }
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    certificateFiles.remove()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Where a path is, in clear text or with TLS, and in the version of HTTP that a client speaks.
  func url(_ path: String, isSecure: Bool, isHTTP2: Bool) -> String {
    let port = port(isSecure: isSecure, isHTTP2: isHTTP2)
    return "\(isSecure ? "https" : "http")://127.0.0.1:\(port)/\(path)"
  }

  func port(isSecure: Bool, isHTTP2: Bool) -> UInt16 { isSecure ? ports.secure : isHTTP2 ? ports.http2 : ports.http1 }

  private static func configuration(
    _ folder: String, _ files: ServerCertificate, _ ports: (http1: UInt16, http2: UInt16, secure: UInt16)
  ) -> String {
    """
    daemon off;
    worker_processes 1;
    error_log stderr crit;
    pid \(folder)nginx.pid;
    events { worker_connections 2048; }
    http {
      access_log off;
      default_type application/json;
      client_body_temp_path body;
      client_max_body_size 2g;
      client_body_buffer_size 256k;
      keepalive_requests 1000000000;
      keepalive_time 1h;
      http2_max_concurrent_streams 1000;
      sendfile on;
      open_file_cache max=100;
      ssl_certificate \(files.certificate);
      ssl_certificate_key \(files.key);
      server {
        listen 127.0.0.1:\(ports.http1) backlog=512;
        listen 127.0.0.1:\(ports.http2) http2 backlog=512;
        listen 127.0.0.1:\(ports.secure) ssl http2 backlog=512;
        root \(folder);
        # A file as the response to a POST.
        location / { error_page 405 =200 $uri; }
      }
    }
    """
  }
}

/// A port that nobody listens on.
func freePort() throws -> UInt16 {
  let listener = try listenOnLoopback()
  defer { close(listener.descriptor) }
  return listener.port
}

/// A socket that listens on a port of the system's choice.
func listenOnLoopback() throws -> (descriptor: Int32, port: UInt16) {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var (address, length) = (loopback(0), socklen_t(MemoryLayout<sockaddr_in>.size))
  let result = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
        && getsockname(descriptor, address, &length) == 0
    }
  }
  guard result else { throw URLError(.cannotConnectToHost) }
  return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// A socket that is connected to a port; `nil` if nobody listens there.
func connectToLoopback(_ port: UInt16) -> Int32? {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = loopback(port)
  let result = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  if result == 0 { return descriptor }
  close(descriptor)
  return nil
}

func isListening(_ port: UInt16) -> Bool {
  guard let descriptor = connectToLoopback(port) else { return false }
  close(descriptor)
  return true
}

private func loopback(_ port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  return address
}
