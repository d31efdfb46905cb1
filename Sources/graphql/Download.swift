import CommandLineBase
import GraphQLCommandLine
import GraphQLSchema
import HTTPClientCore
import Streams
import StrictJSON
import SystemBase

#if os(Linux)
  import SocketHTTP
#else
  import URLSessionHTTP
#endif

/// `schema download`.
extension GraphQLCommand {
  func download() async throws -> ExitCode {
    let (schema, body) = try await downloadedSchema(arguments.endpoint ?? "", arguments.headers)
    let path = arguments.output ?? "-"
    let isJSON = path.hasSuffix(".json")
    try write(isJSON ? String(decoding: body, as: UTF8.self) : schema.printed() + "\n", to: path)
    return .success
  }

  /// Asks a server for its schema; returns the response, too.
  func downloadedSchema(_ endpoint: String, _ headers: [HeaderField]) async throws -> (schema: Schema, body: Data) {
    let headers = try requestHeaders(headers)
    guard let url = URL(string: endpoint) else {
      throw Failure(exitCode: .usage, message: "the endpoint is no URL")
    }
    // A server that cannot say what its introspection has is asked for what the specification has.
    let features = try await ask(IntrospectionQuery.featureQuery, url, headers)
    let hasFeatures = features.json["data"]?["type"]?["fields"]?.arrayValue != nil
    let query = hasFeatures ? IntrospectionQuery(features: features.json) : .standard
    let response = try await ask(query.text, url, headers)
    do {
      return (try Schema(introspection: response.body.bytes), response.body)
    } catch {
      let message = response.json["errors"]?.arrayValue?.first?["message"]?.stringValue ?? "\(error)"
      throw Failure(
        exitCode: .invalid, message: "the server gives no schema: \(response.secrets.redactor.redact(message))")
    }
  }

  private func requestHeaders(_ fields: [HeaderField]) throws(Failure) -> HTTPHeaders {
    var headers: HTTPHeaders = [
      "Content-Type": "application/json", "Accept": "application/graphql-response+json, application/json;q=0.9",
    ]
    do throws(RequestError) {
      for field in fields { try headers.set(field.name, to: field.value) }
      let variable = Arguments.authorizationVariable
      if let authorization = ProcessInfo.processInfo.environment[variable], !authorization.isEmpty {
        try headers.set("Authorization", to: authorization)
      }
    } catch {
      throw Failure(exitCode: .usage, message: error.message)
    }
    return headers
  }

  private struct Response {
    let body: Data
    let json: JSONValue
    /// What the server may repeat, and messages must not.
    let secrets: SentSecrets
  }

  private func ask(_ query: String, _ url: URL, _ headers: HTTPHeaders) async throws(Failure) -> Response {
    do {
      let body = try JSONValue.object(["query": .string(query)]).json()
      let request = try HTTPRequest(method: .post, url: url, headers: headers, body: body)
      guard request.isConfidential || arguments.flags.contains(.allowCleartext) else {
        throw Failure(
          exitCode: .usage,
          message: "'\(url.shownSafely)' would be sent everything in clear text; use https, or --allow-cleartext")
      }
      let response = try await transport.send(request).collect(upTo: 64 << 20).value
      guard let json = try? JSONValue(json: response.body.bytes) else {
        let status = response.head.status
        throw Failure(exitCode: .invalid, message: "the server's response (status \(status)) is not JSON")
      }
      let secrets = SentSecrets()
      secrets.add(request)
      return Response(body: response.body, json: json, secrets: secrets)
    } catch let error as Failure {
      throw error
    } catch let error as RequestError where error.kind == .invalidRequest {
      throw Failure(exitCode: .usage, message: error.message)
    } catch {
      let message = (error as? RequestError)?.message ?? "\(error)"
      throw Failure(exitCode: .unreachable, message: message)
    }
  }

  private var transport: any HTTPTransport {
    #if os(Linux)
      SocketTransport()
    #else
      URLSessionTransport()
    #endif
  }
}
