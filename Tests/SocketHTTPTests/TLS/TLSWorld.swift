import Foundation
import HTTPClientCore
import SocketHTTP
import TestSupport

/// The authorities and certificates that the tests of TLS share; making them costs some milliseconds.
struct TLSWorld {
  static let shared = Result { try TLSWorld() }

  let authority: TestCertificate
  let strangeAuthority: TestCertificate
  let server: TestCertificate

  private init() throws {
    authority = try TestCertificate(.init(commonName: "Authority", isAuthority: true))
    strangeAuthority = try TestCertificate(.init(commonName: "Strange authority", isAuthority: true))
    server = try TestCertificate(
      .init(names: ["DNS:server.test", "DNS:*.wild.test", "IP:127.0.0.1", "IP:::1"]), signedBy: authority)
  }

  /// A client that trusts the authority alone.
  func client(
    trust: CertificateTrust? = nil, identity: ClientIdentity? = nil, pins: Set<PublicKeyPin> = [],
    minimumVersion: TLSVersion = .tls12
  ) -> TLSContext {
    let trust = trust ?? .only(.bytes(authority.certificate))
    return TLSContext(
      TLSConfiguration(trust: trust, identity: identity, pins: pins, minimumVersion: minimumVersion))
  }

  /// A pair whose server shows a certificate of this contents, signed by the authority or another one.
  func pair(_ contents: TestCertificate.Contents, signedBy issuer: TestCertificate? = nil, host: String = "server.test")
    throws -> TLSPair
  {
    let certificate = try TestCertificate(contents, signedBy: issuer ?? authority)
    return try TLSPair(client(), TLSServerContext(TLSServerSettings(certificate: certificate)), host: host)
  }

  /// A pair whose server shows the usual certificate.
  func pair(_ client: TLSContext? = nil, _ version: TLSServerSettings.Version? = nil, host: String = "server.test")
    throws -> TLSPair
  {
    let settings = TLSServerSettings(certificate: server)
    return try TLSPair(
      client ?? self.client(), TLSServerContext(version.map(settings.only) ?? settings), host: host)
  }
}
