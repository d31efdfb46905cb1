import AsyncHTTPClient

@main
enum Main {
  static func main() async throws {
    let response = try await HTTPClient.shared.execute(
      HTTPClientRequest(url: CommandLine.arguments[1]), timeout: .seconds(10))
    print(response.status)
  }
}
