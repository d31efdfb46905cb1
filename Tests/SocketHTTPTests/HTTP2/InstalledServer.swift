import Foundation
import LoopbackServers
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// A server that the system has, in a process of its own, with its files in a folder.
final class InstalledServer: Sendable {
  enum Program: String {
    case nginx, nghttpd

    /// Where it is; `nil` if it is not installed.
    var executable: URL? {
      ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { URL(filePath: "\($0)/\(rawValue)") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
  }

  let process: ChildProcess
  private let folder: URL
  private let origin: String
  /// The socket that it listens on; `nil` if it listens on a port.
  private let socketPath: String?
  private let certificate: TestCertificate?

  deinit {
    // nginx ends its workers itself: were it killed, they would go on, and it would never be known to have ended, since
    // they have its standard error. The exit tests of Swift Testing hang while there is such a process.
    process.send(SIGTERM)
    Task { [process, folder] in
      _ = try? await process.waitForEnd()
      try? FileManager.default.removeItem(at: folder)
    }
  }

  private init(
    _ folder: URL, _ process: ChildProcess, origin: String, socketPath: String?, _ certificate: TestCertificate?
  ) {
    (self.folder, self.process) = (folder, process)
    (self.origin, self.socketPath, self.certificate) = (origin, socketPath, certificate)
  }

  /// nginx, which serves files with these contents by their names, as the responses to POSTs, too. `settings` are those of
  /// its server.
  static func nginx(
    isSecure: Bool = true, files: [String: Data], _ settings: String = ""
  ) async throws -> InstalledServer {
    guard let executable = Program.nginx.executable else { throw CocoaError(.fileNoSuchFile) }
    let folder = try makeFolder(with: files)
    let certificate = isSecure ? try certificate(in: folder) : nil
    let socketPath = folder.appending(path: "socket").path
    let configuration = """
      daemon off; worker_processes 1; pid nginx.pid; error_log stderr notice;
      events { worker_connections 256; }
      http {
        access_log off; default_type application/json;
        client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
        client_max_body_size 0;
        server {
          listen unix:\(socketPath) \(isSecure ? "ssl" : "") http2;
          \(isSecure ? "ssl_certificate certificate; ssl_certificate_key key;" : "")
          root files;
          \(settings)
          location / { error_page 405 =200 $uri; }
        }
      }
      """
    try Data(configuration.utf8).write(to: folder.appending(path: "nginx.conf"))
    let process = try ChildProcess(
      executable, ["-e", "stderr", "-p", folder.path, "-c", folder.appending(path: "nginx.conf").path])
    try await process.waitForErrors(containing: "start worker process ")
    return InstalledServer(
      folder, process, origin: isSecure ? "https://127.0.0.1" : "http://127.0.0.1", socketPath: socketPath, certificate)
  }

  /// nghttpd, which sends back what it is sent.
  static func nghttpd(isSecure: Bool = true, _ options: String...) async throws -> InstalledServer {
    guard let executable = Program.nghttpd.executable else { throw CocoaError(.fileNoSuchFile) }
    let folder = try makeFolder(with: ["empty": Data()])
    let certificate = isSecure ? try certificate(in: folder) : nil
    let port = try RefusingPort().port
    let files = folder.appending(path: "files").path
    let arguments = ["-v", "-a", "127.0.0.1", "--echo-upload", "-d", files] + options
    let process = try ChildProcess(
      executable,
      arguments
        + (isSecure
          ? ["\(port)", folder.appending(path: "key").path, folder.appending(path: "certificate").path]
          : ["--no-tls", "\(port)"]))
    try await process.waitForOutput(containing: "listen 127.0.0.1:\(port)")
    return InstalledServer(
      folder, process, origin: "\(isSecure ? "https" : "http")://127.0.0.1:\(port)", socketPath: nil, certificate)
  }

  private static func makeFolder(with files: [String: Data]) throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder.appending(path: "files"), withIntermediateDirectories: true)
    // A worker may have another user.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
    for (name, contents) in files { try contents.write(to: folder.appending(path: "files/\(name)")) }
    return folder
  }

  private static func certificate(in folder: URL) throws -> TestCertificate {
    let certificate = try TestCertificate(.init(names: ["IP:127.0.0.1"]))
    try certificate.chain.write(to: folder.appending(path: "certificate"))
    try certificate.key.write(to: folder.appending(path: "key"))
    return certificate
  }

  func request(
    _ path: String, method: HTTPMethod = .get, body: Data? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(30))
  ) throws -> HTTPRequest {
    guard let url = URL(string: origin + path) else { throw URLError(.badURL) }
    return try HTTPRequest(method: method, url: url, body: body, timeouts: timeouts)
  }

  /// A transport that speaks HTTP/2 with it.
  func transport(_ configure: (inout SocketTransport.Configuration) -> Void = { _ in }) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configuration.unixSocketPath = socketPath
    if let certificate { configuration.tls.trust = .only(.bytes(certificate.certificate)) }
    configure(&configuration)
    return SocketTransport(configuration: configuration)
  }
}
