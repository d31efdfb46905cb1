import Foundation
import TestSupport
import Testing

/// The rule: values that people compare in tests and print in logs are `Equatable`, and errors are also
/// `CustomStringConvertible`, as is what would print bytes, secrets, or a whole tree otherwise.
@Suite("Public values")
struct PublicValueTests {
  /// Public structs and enums that are not `Equatable`, by the reason.
  private static let notCompared: [(reason: String, types: [String])] = [
    (
      "does something, and is no value",
      [
        "Streams.ConcurrentScheduler", "Streams.SerialScheduler", "Streams.ImmediateScheduler",
        "Streams.ClockScheduler", "Streams.ElasticScheduler", "Streams.AsyncValues", "Streams.AsyncValues.Iterator",
        "Streams.AnyObserver", "Streams.Observable", "StrictJSON.JSONReader", "StrictJSON.JSONWriter",
        "HTTPClientCore.MultipartParser",
        "HTTPClientCore.EventStreamParser", "HTTPClientCore.WebSocketConnection", "HTTPClientCore.RequestObservers",
        "HTTPClientCore.Redactor",
        "HTTPMiddlewares.HedgingMiddleware", "HTTPMiddlewares.LoggingMiddleware", "HTTPMiddlewares.RequestOwners",
        "HTTPMiddlewares.ObservingMiddleware", "HTTPMiddlewares.ConcurrencyLimitMiddleware",
        "HTTPMiddlewares.DeadlineMiddleware", "HTTPMiddlewares.RedirectMiddleware",
        "HTTPMiddlewares.DefaultHeadersMiddleware", "HTTPMiddlewares.RateLimitMiddleware",
        "HTTPMiddlewares.AuthMiddleware", "HTTPMiddlewares.RetryMiddleware", "HTTPMiddlewares.MemoryCacheStorage",
        "HTTPMiddlewares.CacheMiddleware", "HTTPMiddlewares.CircuitBreakerMiddleware",
        "GraphQLClient.StreamLiveTransport", "GraphQLClient.WebSocketLiveTransport", "GraphQLClient.FoundationJSON",
        "GraphQLClient.APIClient", "GraphQLClient.APICall", "GraphQLClient.GraphQLSettings",
        "Networking.MomentsSessions", "Networking.PostPhotoSession",
        "Networking.GetMomentsConnectionSession", "Networking.MomentLikedSession", "Networking.UpdateMomentLikeSession",
        "Networking.GetMomentsByUserIDSession", "Repository.MomentsRepo", "Repository.NormalizedMomentsRepo",
        "Stores.Fetcher", "Stores.OutboxInterceptor", "GraphQLSchema.Executor", "GraphQLTesting.SessionCheck",
        "GraphQLTesting.Fixtures", "StreamsTesting.TestScheduler.VirtualTime", "StreamsTesting.Recording",
      ]
    ),
    (
      "holds closures, or what does something, and so cannot be compared",
      [
        "Streams.Backoff", "Streams.RetryPolicy", "StrictJSON.JSONCoder", "StrictJSON.JSONCoder.DateStrategy",
        "HTTPClientCore.HTTPRequest",
        "HTTPClientCore.HTTPUpload", "HTTPClientCore.WebSocketEvent", "HTTPMiddlewares.RateLimitSignal",
        "HTTPMiddlewares.AuthenticationChallenge", "SocketHTTP.SocketTransport.Configuration",
        "GraphQLClient.LiveOperation", "GraphQLClient.LiveSettings", "GraphQLClient.WebSocketLiveTransport.Opening",
        "GraphQLClient.ResponseParser", "GraphQLClient.BodyFormat", "Networking.PostPhotoSession.Session.Variables",
        "GraphQLClient.GraphQLUpload", "GraphQLClient.GraphQLBatching", "GraphQLClient.GraphQLWire",
        "Stores.NormalizedConfiguration", "Stores.NormalizedChange", "Stores.StoreConfiguration", "Stores.StoreChange",
        "Stores.StoreStorage",
        "Stores.StoreClock",
        "Stores.ReadContext",
        "Stores.RecordCoder",
        "GraphQLTesting.ScalarSamples", "GraphQLClientTesting.ScriptedResponse",
        "GraphQLClientTesting.ScriptedLiveStep",
        "GraphQLClientTesting.RequestMatcher", "TransportConformance.TransportConformance.Case",
        "StoreConformance.StoreConformance.Case", "StoreConformance.StoreConformance.AsyncCase",
        "StoreConformance.RecordStorageConformance.Case",
      ]
    ),
    (
      "is a session, which a test recognises by its variables",
      [
        "Networking.PostPhotoSession.Session", "Networking.GetMomentsConnectionSession.Session",
        "Networking.MomentLikedSession.Session", "Networking.UpdateMomentLikeSession.Session",
        "Networking.GetMomentsByUserIDSession.Session",
      ]
    ),
    (
      "is a view of a tree or schema, whose parts are compared",
      [
        "GraphQLLanguage.SyntaxList", "GraphQLLanguage.ValueSyntax.Kind", "GraphQLLanguage.TypeSyntax.Kind",
        "GraphQLSchema.Schema", "GraphQLSchema.Executor.FieldRequest",
      ]
    ),
  ]

  /// Public types that would print the bytes of bodies, secrets, or a whole tree, if they did not describe themselves.
  private static let described = [
    "HTTPClientCore.HTTPField", "HTTPClientCore.HTTPHeaders", "HTTPClientCore.HTTPRequest",
    "HTTPClientCore.HTTPResponse", "HTTPClientCore.HTTPResponseHead",
    "HTTPClientCore.MultipartPart", "HTTPClientCore.Redactor", "HTTPClientCore.RequestOutcome",
    "HTTPClientCore.RequestSummary", "HTTPClientCore.AttemptSummary",
    "HTTPClientCore.WebSocketRequest", "HTTPClientCore.WebSocketClosure", "HTTPMiddlewares.AccessToken",
    "HTTPMiddlewares.CacheKey",
    "HTTPMiddlewares.CachedResponse", "SocketHTTP.PEM", "StrictJSON.JSONValue", "StrictJSON.RawJSON",
    "GraphQLClient.GraphQLDocument",
    "GraphQLClient.GraphQLOperation", "GraphQLClient.GraphQLRequest", "GraphQLClient.GraphQLError", "Stores.Snapshot",
    "GraphQLSchema.NamedType", "GraphQLSchema.Field", "GraphQLSchema.InputValue", "GraphQLSchema.EnumValue",
    "GraphQLSchema.DirectiveDefinition", "GraphQLSchema.SchemaElement", "GraphQLSchema.TypeReference",
    "GraphQLSchema.ExecutionResult", "GraphQLSchema.ResponseValue", "GraphQLLanguage.NameSyntax",
    "GraphQLTesting.SessionCheck.Finding", "GraphQLTesting.SessionCheck.Report",
  ]

  private static let types = Result { try PublicTypes() }

  @Test func `every public struct and enum is Equatable, unless the list of exceptions says why not`() throws {
    let types = try Self.types.get()
    let exceptions = Set(Self.notCompared.flatMap(\.types))
    let missing = types.names.filter { !types.isEquatable($0) && !exceptions.contains($0) }
    #expect(missing.isEmpty, "make these Equatable, and Hashable where it is natural, or add them with a reason")
    let superfluous = exceptions.filter { !types.names.contains($0) || types.isEquatable($0) }
    #expect(superfluous.isEmpty, "these are Equatable, or there are none of these names: take them out")
  }

  @Test func `every public error describes itself, and so does what would print bytes, secrets or a tree`() throws {
    let types = try Self.types.get()
    #expect(Set(Self.described).subtracting(types.names).isEmpty, "there are none of these names")
    let wanted = Set(Self.described).union(types.names.filter { types.isError($0) })
    #expect(wanted.count > Self.described.count + 15)
    #expect(wanted.filter { !types.conforms($0, to: ["CustomStringConvertible"]) }.isEmpty)
  }
}

/// The public structs and enums of the modules, read from their sources.
private struct PublicTypes {
  private struct Declaration {
    var conformances = ""
    var isPublicValue = false
    /// Whether it is an enum of which no case has values, which is `Hashable` by itself.
    var isPlainEnum = false
  }

  private static let modules = [
    "Streams", "StrictJSON", "HTTPClientCore", "HTTPMiddlewares", "SocketHTTP", "URLSessionHTTP", "GraphQLValues",
    "GraphQLClient", "Stores", "Models", "Networking", "Repository",
    "GraphQLLanguage", "GraphQLSchema", "GraphQLGeneration", "GraphQLTesting", "GraphQLClientTesting", "StreamsTesting",
    "TransportConformance", "StoreConformance",
  ]

  /// By module and name.
  private var declarations: [String: Declaration] = [:]

  /// Their names, such as `HTTPClientCore.RequestError.Kind`.
  var names: Set<String> { Set(declarations.filter { $0.value.isPublicValue }.keys) }

  init() throws {
    for module in Self.modules {
      let folder = RepositoryLayout.root.appending(path: "Sources/\(module)")
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        if file.pathExtension == "swift" { read(try String(contentsOf: file, encoding: .utf8), of: module) }
      }
    }
  }

  /// Reads a file, whose indentation by two blanks says what is nested in what.
  private mutating func read(_ text: String, of module: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var path: [String] = []
    // To try the expression on every line would take most of a minute.
    let keywords = ["struct ", "enum ", "class ", "actor ", "extension ", "protocol "]
    for (number, line) in lines.enumerated() where keywords.contains(where: { line.contains($0) }) {
      guard
        let found = line.firstMatch(
          of:
            /^( *)((?:@\S+ |public |package |private |fileprivate |final |indirect )*)(struct|enum|class|actor|extension|protocol) ([\w.]+)/
        )
      else { continue }
      let depth = found.1.count / 2
      path = path.prefix(depth) + [String(found.4)]
      let name = ([module] + path).joined(separator: ".")
      let head = lines[number...].prefix(8).joined(separator: " ")
        .dropFirst(found.0.count).prefix { $0 != "{" }.replacing(/^<.*?>(?=[: ]|$)/, with: "")
      var declaration = declarations[name] ?? Declaration()
      declaration.conformances += " " + (head.split(separator: " where ").first ?? "")
      if found.2.contains("public"), found.3 == "struct" || found.3 == "enum" {
        declaration.isPublicValue = true
        let body = lines[(number + 1)...].prefix { !$0.hasPrefix(found.1 + "}") }
        let cases = body.filter { line in
          ["case ", "indirect case "].contains { line.hasPrefix(found.1 + "  " + $0) }
        }
        declaration.isPlainEnum = found.3 == "enum" && !cases.contains { $0.contains("(") }
      }
      declarations[name] = declaration
    }
  }

  func conforms(_ name: String, to protocols: [String]) -> Bool {
    let words = declarations[name]?.conformances.split { !$0.isLetter } ?? []
    return protocols.contains { words.contains(Substring($0)) }
  }

  func isEquatable(_ name: String) -> Bool {
    declarations[name]?.isPlainEnum == true
      || conforms(name, to: ["Equatable", "Hashable", "Comparable", "SyntaxView"])
  }

  func isError(_ name: String) -> Bool { conforms(name, to: ["Error", "ReachingCause"]) }
}
