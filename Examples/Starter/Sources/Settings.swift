import GraphQLClient
import HTTPClientCore
import Stores
import Streams
import SystemBase

/// What the command line and the environment say. A wrong value is an error that says so in one line, and never a usual
/// value in its place.
struct Settings: Sendable {
  enum Command: Equatable, Sendable {
    case list
    case deliver(String)
    case watch
  }

  let command: Command
  /// `ENDPOINT`: the URL of the GraphQL server.
  let endpoint: URL
  /// Whether there is no `ENDPOINT`, so that the embedded backend responds.
  let isEmbedded: Bool
  /// `TOKEN`: what the server knows its user by, if it asks for that.
  let token: String?
  /// `FOLDER`: where mutations wait for the network; `.cache/starter` in the home folder by default.
  let folder: URL

  init(_ arguments: some Sequence<String>, _ environment: [String: String]) throws(SettingsError) {
    let arguments = Array(arguments)
    switch (arguments.first, arguments.count) {
    case ("list", 1): command = .list
    case ("deliver", 2): command = .deliver(arguments[1])
    case ("watch", 1): command = .watch
    default: throw SettingsError("usage: starter list | deliver ID | watch")
    }
    let url = environment["ENDPOINT"]
    guard let endpoint = URL(string: url ?? "https://embedded.invalid/graphql") else {
      throw SettingsError("ENDPOINT is a URL, such as https://depot.example/graphql.")
    }
    (self.endpoint, isEmbedded) = (endpoint, url == nil)
    token = environment["TOKEN"]
    guard token?.isEmpty != true else { throw SettingsError("TOKEN is empty: unset it, if there is none.") }
    guard environment["FOLDER"]?.isEmpty != true else {
      throw SettingsError("FOLDER is empty: unset it for .cache/starter in the home folder.")
    }
    let home = FileManager.default.homeDirectoryForCurrentUser
    folder = environment["FOLDER"].map { URL(filePath: $0) } ?? home.appending(path: ".cache/starter")
  }

  /// Whose mutations wait: those for one server are never sent to another.
  var account: String { endpoint.absoluteString }

  /// The network, or the embedded backend.
  func transport() throws -> any HTTPTransport { try isEmbedded ? embeddedBackend() : .platform() }

  /// A client with deadlines, retries and a circuit breaker.
  func client(
    on transport: any HTTPTransport, scheduler: some Scheduler = ConcurrentScheduler()
  ) throws(SettingsError) -> APIClient {
    do {
      var client = try APIClient(
        baseURL: endpoint, transport: transport, middlewares: .standard(scheduler: scheduler))
      if let token { try client.defaultHeaders.set("Authorization", to: "Bearer \(token)") }
      return client
    } catch {
      throw SettingsError("ENDPOINT or TOKEN: \(error.message)")
    }
  }

  /// What the program shows, with the mutations that wait in the folder.
  func parcels(on transport: any HTTPTransport) throws -> Parcels {
    let client = try client(on: transport)
    do {
      return try Parcels(client, folder: folder, account: account)
    } catch let error as FileError {
      throw SettingsError("FOLDER \(folder.path): \(error). Set it to one that can be written.")
    }
  }
}

/// What is wrong with the settings, in one line.
struct SettingsError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
