import Foundation
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import TestSupport
import Testing

/// What is said where a configuration cannot be used.
struct TLSContextTests {
  let world: TLSWorld

  init() throws {
    world = try TLSWorld.shared.get()
  }

  private func error(_ configuration: TLSConfiguration, _ hints: String...) {
    let context = TLSContext(configuration)
    for _ in 0..<2 {
      let error = #expect(throws: RequestError.self) { try context.prepare() }
      #expect(error?.kind == .insecure)
      for hint in hints { #expect(error?.message.contains(hint) == true, "\(String(describing: error))") }
    }
    #expect(throws: RequestError.self) { try TLSSession(context, host: "server.test", port: 443) }
  }

  private func identity(_ certificates: Data, _ key: Data) -> TLSConfiguration {
    TLSConfiguration(identity: ClientIdentity(certificates: .bytes(certificates), privateKey: .bytes(key)))
  }

  @Test func `an error says what to install on a machine without OpenSSL`() {
    let error = #expect(throws: RequestError.self) {
      try OpenSSL.load(ssl: "libssl.so.3", crypto: "libnonesuch.so.3").get()
    }
    #expect(error?.kind == .insecure)
    #expect(error?.message.contains("apt-get install libssl3") == true)
    #expect(error?.cause as? DynamicLibraryError == .missingLibrary("libnonesuch.so.3"))
  }

  @Test func `a library that lacks a function is an error, not a crash`() {
    let error = #expect(throws: RequestError.self) { try OpenSSL.load(ssl: "libssl.so.3", crypto: "libm.so.6").get() }
    #expect(error?.cause as? DynamicLibraryError == .missingFunction("OPENSSL_init_crypto", library: "libm.so.6"))
  }

  @Test func `AES with keys of 128 bits is offered first`() throws {
    let session = try TLSSession(world.client(), host: "server.test", port: 443)
    #expect(try session.handshake() == false)
    let hello = session.takeOutgoing()
    // RFC 8446, sections 4.1.2 and 5.1: behind the record's and the message's heads, a version and 32 random bytes
    // comes an identifier, and behind that the suites, each with their length before them.
    let suites = hello.dropFirst(5 + 4 + 2 + 32)
    let first = suites.dropFirst(1 + Int(suites.first ?? 0) + 2).prefix(2)
    #expect(Array(first) == [0x13, 0x01])
  }

  @Test func `a file that is not there is named`() {
    error(TLSConfiguration(trust: .only(.file("/nonexistent/ca.pem"))), "/nonexistent/ca.pem")
  }

  @Test func `a file works as well as bytes`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString).pem")
    try world.authority.certificate.write(to: path)
    defer { try? FileManager.default.removeItem(at: path) }
    #expect(try world.pair(world.client(trust: .only(.file(path.path())))).shake())
  }

  @Test(arguments: ["", "garbage", "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"])
  func `a text without a certificate is an error`(text: String) {
    error(TLSConfiguration(trust: .only(.bytes(Data(text.utf8)))), "no readable certificate")
    error(TLSConfiguration(trust: .systemAnd([.bytes(Data(text.utf8))])), "no readable certificate")
    error(identity(Data(text.utf8), world.server.key), "no readable certificate")
  }

  @Test func `a broken certificate after a good one is an error`() {
    let whole = world.authority.certificate
    error(TLSConfiguration(trust: .only(.bytes(whole + whole.prefix(whole.count / 2)))), "no readable certificate")
  }

  @Test func `a key that is missing, of another certificate, or encrypted is an error`() throws {
    let chain = world.server.chain
    error(identity(chain, Data()), "no readable private key")
    error(identity(chain, chain), "no readable private key")
    error(identity(chain, world.authority.key), "do not fit")
    error(identity(chain, try world.server.encryptedKey(password: "secret")), "not encrypted")
  }

  @Test func `certificate and key may stand in one text`() throws {
    let both = world.server.key + world.server.chain
    try TLSContext(identity(both, both)).prepare()
  }

  @Test func `a context that failed works once its file is there`() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString).pem")
    let context = world.client(trust: .only(.file(path.path())))
    #expect(throws: RequestError.self) { try context.prepare() }
    try world.authority.certificate.write(to: path)
    defer { try? FileManager.default.removeItem(at: path) }
    try context.prepare()
  }

  @Test func `an error says that a machine has no trusted certificates, and connections work once it has them`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let (file, hashed) = (folder.appending(path: "all.pem"), folder.appending(path: "hashed"))
      setenv("SSL_CERT_FILE", file.path(), 1)
      setenv("SSL_CERT_DIR", hashed.path(), 1)
      let world = try TLSWorld.shared.get()
      let client = world.client(trust: .system)
      let error = try #require(throws: RequestError.self) { try client.prepare() }
      try #require(error.kind == .insecure && error.message.contains("ca-certificates"))
      try #require(error.message.contains(file.path()) && error.message.contains(hashed.path()))
      try world.authority.certificate.write(to: file)
      try #require(try world.pair(client).shake())
    }
  }

  @Test func `a folder of certificates alone suffices`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      setenv("SSL_CERT_FILE", "/nonexistent.pem", 1)
      setenv("SSL_CERT_DIR", "/nonexistent:\(folder.path())", 1)
      let world = try TLSWorld.shared.get()
      try world.authority.certificate.write(to: folder.appending(path: "0123abcd.0"))
      try world.client(trust: .system).prepare()
    }
  }

  @Test func `a process may end while sessions are open`() async {
    await #expect(processExitsWith: .success) {
      endProcess()
      // Runs after whatever OpenSSL has set up for the exit.
      atexit { for _ in 0..<50 { handshakes.wait() } }
      try TLSContext(TLSConfiguration(trust: .only())).prepare()
      let world = try TLSWorld.shared.get()
      let server = try TLSServerContext(TLSServerSettings(certificate: world.server))
      for _ in 0..<8 {
        Thread.detachNewThread {
          while true {
            _ = try? TLSPair(world.client(), server).shake()
            handshakes.signal()
          }
        }
      }
      for _ in 0..<20 { handshakes.wait() }
      exit(0)
    }
  }

  @Test func `a file without an end is an error that names it`() throws {
    let error = #expect(throws: RequestError.self) { try PEM.reading("/dev/zero") }
    #expect(error?.kind == .insecure)
    #expect(error?.message.contains("'/dev/zero'") == true)
  }

  @Test func `no description or dump shows a key`() throws {
    let canary = "CANARY"
    let configuration = identity(world.server.chain, Data(canary.utf8))
    var dumped = ""
    dump(configuration, to: &dumped)
    for text in ["\(configuration)", String(reflecting: configuration), dumped] {
      #expect(!text.contains(canary))
      #expect(!text.contains(Data(canary.utf8).base64EncodedString()))
      #expect(text.contains("6 bytes of PEM"))
    }
    let error = #expect(throws: RequestError.self) { try TLSContext(configuration).prepare() }
    #expect("\(String(reflecting: error))".contains(canary) == false)
  }
}

private let handshakes = DispatchSemaphore(value: 0)
