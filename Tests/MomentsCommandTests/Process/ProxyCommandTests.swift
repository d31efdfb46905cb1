import Foundation
import TestSupport
import Testing

@Suite("the command behind a proxy")
struct ProxyCommandTests {
  private static let password = "CANARY-6f1d2c3b4a596877"
  private static let secrets = [password, "CANARY-6f1d2c", "me:\(password)", base64, String(base64.dropFirst(4))]
  private static let base64 = Data("me:\(password)".utf8).base64EncodedString()

  /// A proxy that repeats what it was told, in the words of this closure.
  private func proxy(_ answer: @escaping @Sendable (_ told: String) -> RawResponse) throws -> ScriptedServer {
    try ScriptedServer(
      .answering { request in
        let credentials = request["Proxy-Authorization"] ?? ""
        let decoded = Data(base64Encoded: String(credentials.dropFirst(6))).map { String(decoding: $0, as: UTF8.self) }
        return answer("\(credentials) \(decoded ?? "nothing")")
      })
  }

  private func run(
    _ arguments: String..., account: Account, through proxy: ScriptedServer
  ) async throws -> ChildProcess.State {
    let options = ["--endpoint", "http://moments.invalid/graphql", "--allow-cleartext", "--retries", "0"]
    return try await Moments.run(
      arguments + options + account.options.suffix(2),
      environment: ["http_proxy": "http://me:\(Self.password)@127.0.0.1:\(proxy.port)", "no_proxy": nil])
  }

  @Test func `S3: a proxy's password is in no error, log or file, though the proxy repeats it`() async throws {
    let account = try Account.offline()
    let page = try proxy { RawResponse(403, contentType: "text/html", headers: [("X-Told", $0)], body: "<p>\($0)") }
    let error = try proxy { RawResponse(body: #"{"errors": [{"message": "\#($0)"}], "data": null}"#) }
    for server in [page, error] {
      for command in [["timeline"], ["like", "m0"], ["outbox", "list"]] {
        let result =
          command.count == 1
          ? try await run(command[0], "--verbose", account: account, through: server)
          : try await run(command[0], command[1], "--verbose", account: account, through: server)
        let shown = result.outputText + result.errorText + (try account.everythingKept())
        for secret in Self.secrets { #expect(!shown.contains(secret)) }
      }
      #expect(server.requests.last?["Proxy-Authorization"] == "Basic \(Self.base64)")
    }
    let result = try await run("timeline", account: account, through: page)
    #expect(result.errorText.contains("<redacted>"))
  }
}
