import Foundation
import TestSupport
import Testing

@Suite("the command and secrets")
struct SecretTests {
  /// What the server does, which sends back each secret that it is sent; with the last there is none.
  private static let answers = ["whole", "renew", "error", "html", "401", "403", "500", "none"]

  @Test func `S3: a token stands in nothing that the command says or leaves, on any of its ways`() async throws {
    let server = try ScriptedServer(.answering { Self.answer($0) })
    let account = try Account.offline()
    let folder = try #require(account.options.last)
    let environment = [
      "MOMENTS_TOKEN": "canary-token-1234", "MOMENTS_REFRESH_TOKEN": "canary-refresh-5678", "HOME": folder,
      "TMPDIR": folder,
    ]
    var said = ""
    for answer in Self.answers {
      let address = answer == "none" ? account.options[1] : server.url.absoluteString
      for arguments in [["timeline"], ["like", "m0"], ["outbox", "list"], ["outbox", "flush"], ["cache", "stats"]] {
        for option in ["--verbose", "--json"] {
          let options = ["--retries", "0", "--header", "X-Answer: \(answer)", "--endpoint", address, option]
          let result = try await Moments.run(
            arguments + options + ["--cache-dir", folder], environment: environment)
          #expect(!(result.outputText + result.errorText).contains("canary"), "\(arguments) \(option): \(answer)")
          said += result.outputText + result.errorText
        }
      }
    }
    for words in ["<redacted>", "早安", "is queued", "is set aside", "refreshed"] {
      #expect(said.contains(words), "\(words)")
    }
    let kept = try account.everythingKept()
    #expect(kept.contains("早安"))
    #expect(kept.contains(#""momentID":"m0""#))
    #expect(!kept.contains("canary"))
    #expect(server.requests.contains { $0["Authorization"] == "Bearer canary-access-90" })
  }

  private static func answer(_ request: ScriptedServer.Request) -> RawResponse {
    let body = String(decoding: request.body, as: UTF8.self)
    let isRefresh = body.contains("canary-refresh-5678")
    let secrets = (request["Authorization"] ?? "") + (isRefresh ? " canary-refresh-5678" : "")
    let echo = [(name: "X-Echo", value: secrets)]
    switch request["X-Answer"] {
    case "renew" where isRefresh:
      let tokens = """
        {"accessToken":"canary-access-90","refreshToken":"canary-refresh-90","expiresAt":"2100-01-01T00:00:00Z"}
        """
      return RawResponse(headers: echo, body: #"{"data":{"refreshToken":\#(tokens)}}"#)
    case "renew" where secrets.contains("1234"): return RawResponse(401, headers: echo, body: secrets)
    case "whole", "renew":
      let field = body.contains("updateMomentLike") ? "updateMomentLike" : "getMomentsDetailsByUserID"
      return RawResponse(headers: echo, body: #"{"data":{"\#(field)":\#(TimelineJSON.details)}}"#)
    case "error":
      let error = #"{"message":"\#(secrets)","path":["\#(secrets)"],"extensions":{"code":"\#(secrets)"}}"#
      return RawResponse(headers: echo, body: #"{"data":null,"errors":[\#(error)]}"#)
    case "html": return RawResponse(contentType: "text/html", headers: echo, body: "<p>\(secrets)")
    case let status: return RawResponse(Int(status ?? "") ?? 400, headers: echo, body: secrets)
    }
  }
}
