import Foundation
import TestSupport
import Testing

/// What is sent to a server that is asked for its schema, and what is not.
@Suite struct EndpointTests {
  private let folder: WorkFolder

  init() throws {
    folder = try WorkFolder()
    _ = try folder.file("A.graphql", "query A { a }")
  }

  private func config(_ endpoint: String) throws -> String {
    try folder.file(
      "graphql.json", #"{"schema": {"endpoint": "\#(endpoint)"}, "documents": "A.graphql", "output": "out"}"#)
  }

  /// The commands that ask an endpoint for its schema.
  private func commands(_ endpoint: String) throws -> [[String]] {
    [
      ["schema", "download", "--output", try folder.file("s.graphql"), "--endpoint", endpoint],
      ["generate", "--config", try config(endpoint)],
    ]
  }

  @Test func `another machine is asked in clear text only if that is allowed`() async throws {
    // An address for documentation (RFC 5737), to which there is no route.
    for command in try commands("http://192.0.2.1/graphql?key=canary") {
      let result = try await folder.run(command, environment: ["GRAPHQL_AUTHORIZATION": "Bearer canary"])
      #expect(result.code == 64)
      #expect(
        result.errors == "graphql: 'http://192.0.2.1/graphql?key=…' would be sent everything in clear text; "
          + "use https, or --allow-cleartext\n")
    }
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let proxy: [String: String?] = ["http_proxy": server.url.absoluteString, "no_proxy": nil]
    for command in try commands("http://192.0.2.1/graphql") {
      #expect(try await folder.run(command + ["--allow-cleartext"], environment: proxy).code == 65)
    }
    #expect(server.requests.count == 4)
  }

  @Test func `S4: credentials come from the environment, and are refused as an argument`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    for command in try commands(server.url.absoluteString) {
      for field in ["Authorization: Bearer canary", "COOKIE: canary", "proxy-authorization:canary"] {
        let result = try await folder.run(command + ["--header", field])
        #expect(result.code == 64)
        #expect(result.errors.contains("others can read a command's arguments; set GRAPHQL_AUTHORIZATION instead"))
        #expect(!result.errors.contains("canary"))
      }
      _ = try await folder.run(
        command + ["--header", "X-Tenant: 1"], environment: ["GRAPHQL_AUTHORIZATION": "Bearer canary"])
    }
    let requests = server.requests
    #expect(requests.count == 4)
    #expect(requests.allSatisfy { $0["Authorization"] == "Bearer canary" })
    #expect(requests.allSatisfy { $0["X-Tenant"] == "1" })
  }

  @Test func `a header beside a schema in a file is wrong usage`() async throws {
    let schema = try folder.file("schema.graphql", "type Query { a: Int }")
    let arguments = ["generate", "--schema", schema, "--output", try folder.file("out"), try folder.file("A.graphql")]
    let result = try await folder.run(arguments + ["--header", "X-Tenant: 1"])
    #expect(result.code == 64)
    #expect(result.errors.hasPrefix("graphql: --header goes with the schema of an endpoint"))
  }

  @Test func `S3: a secret of an endpoint is in no message`() async throws {
    let config = try config("https://user:canary@a.example/graphql?key=canary#canary")
    let refused = try await folder.run(["--config", config], command: "graphql-generate")
    #expect(refused.code == 64)
    #expect(refused.errors.contains("the schema is at https://a.example/graphql, which is not asked here"))
    #expect(try await !folder.run(["generate", "--config", config]).errors.contains("canary"))
  }

  @Test func `S3: a secret of an endpoint without a scheme is in no message`() async throws {
    let endpoint = "user:canary@a.example/graphql"
    let config = try config(endpoint)
    let refused = try await folder.run(["--config", config], command: "graphql-generate")
    #expect(refused.code == 64)
    #expect(!refused.errors.contains("canary"))
    #expect(try await !folder.run(["generate", "--config", config]).errors.contains("canary"))
    let download = try await folder.run(["schema", "download", "--endpoint", endpoint, "--output", "-"])
    #expect(download.code == 64)
    #expect(!download.errors.contains("canary"))
  }

  @Test func `S3: a secret that the server sends back is in no message`() async throws {
    let body = #"{"errors": [{"message": "not allowed: Bearer canary-1234, key canary-5678"}]}"#
    let server = try ScriptedServer(.answering { _ in RawResponse(body: body) })
    for command in try commands(server.url.absoluteString) {
      let result = try await folder.run(
        command + ["--header", "X-Api-Key: canary-5678"], environment: ["GRAPHQL_AUTHORIZATION": "Bearer canary-1234"])
      #expect(result.code == 65)
      #expect(result.errors.hasPrefix("graphql: the server gives no schema: not allowed: "))
      #expect(!result.errors.contains("canary"))
    }
  }
}
