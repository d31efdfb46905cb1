package import CommandLineBase
import GraphQLGeneration
import GraphQLLanguage
import GraphQLSchema
import GraphQLValues
import SystemBase

/// `generate`.
package struct GenerateCommand: Sendable {
  /// What the command line says.
  package struct Options: Sendable {
    package var configuration: String?
    package var schema: String?
    package var output: String?
    package var manifest: String?
    package var headers: [HeaderField] = []
    package var files: [String] = []
    package var isCheck = false
    package var isOnce = false
    package var isJSON = false
    package var showsWarnings = true

    package init() {}
  }

  /// Asks a server for its schema, by introspection.
  package typealias Download = @Sendable (_ endpoint: String, _ headers: [HeaderField]) async throws -> [UInt8]

  private let options: Options
  private let console: Console
  private let download: Download

  package init(_ options: Options, _ console: Console, download: @escaping Download) {
    (self.options, self.console, self.download) = (options, console, download)
  }

  package func run() async throws -> ExitCode {
    try options.check()
    var sources = GenerationInputs()
    do {
      let (configuration, folder) = try readConfiguration(&sources)
      let schema = try await schemaSources(configuration, folder, &sources)
      let paths = options.files.isEmpty ? configuration.documents.map { Self.path($0, in: folder) } : options.files
      guard !paths.isEmpty else {
        throw Failure(
          exitCode: .usage, message: "'generate' needs files, or \"documents\" in its configuration; see graphql --help"
        )
      }
      guard let output = options.output ?? configuration.output.map({ Self.path($0, in: folder) }) else {
        throw Failure(
          exitCode: .usage, message: "'generate' needs --output, or \"output\" in its configuration; see graphql --help"
        )
      }
      let documents = try console.inputs(
        paths, endings: ["graphql", "gql"], without: schema.map(\.name),
        place: options.files.isEmpty ? configuration.places["documents"] : nil
      ).map { sources.add($0) }
      let code = try Generator(configuration.generation).generate(schema: schema, documents: documents)
      if options.showsWarnings { console.report(code.warnings.map(sources.finding)) }
      let manifest = try manifest(configuration, folder, sources)
      return try write(code, to: output, manifest, configuration)
    } catch let failure as GenerationFailure {
      console.report(failure.problems.map(sources.finding))
      throw Failure(
        exitCode: .invalid,
        message: "nothing is written: \(counted(failure.problems.count { $0.severity == .error }, "error"))")
    }
  }

  // MARK: - What is read

  /// Reads the configuration; returns its folder, too, empty or with a slash at its end.
  private func readConfiguration(_ sources: inout GenerationInputs) throws -> (ConfigurationFile, folder: String) {
    let path = options.configuration ?? "graphql.json"
    if options.configuration == nil, access(path, F_OK) != 0 { return (ConfigurationFile(), "") }
    let source = sources.add(try Input(path))
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    return (try ConfigurationFile(source), folder)
  }

  private static func path(_ path: String, in folder: String) -> String {
    path.hasPrefix("/") ? path : folder + path
  }

  private func schemaSources(
    _ configuration: ConfigurationFile, _ folder: String, _ sources: inout GenerationInputs
  ) async throws -> [GenerationSource] {
    if let path = options.schema {
      try checkNoHeaders()
      return [sources.add(try Input(path))]
    }
    switch configuration.schema {
    case .files(let paths):
      try checkNoHeaders()
      do throws(Failure) {
        return try paths.map { path throws(Failure) in sources.add(try Input(Self.path(path, in: folder))) }
      } catch {
        throw error.at(configuration.places["schema"])
      }
    case .endpoint(let endpoint, let headers):
      let fields = headers.sorted { $0.key < $1.key }.map { HeaderField(name: $0.key, value: $0.value) }
      let bytes = try await download(endpoint, fields + options.headers)
      return [GenerationSource(name: endpoint.endpointShownSafely, bytes: bytes)]
    case nil:
      throw Failure(
        exitCode: .usage, message: "'generate' needs --schema, or \"schema\" in its configuration; see graphql --help")
    }
  }

  private func checkNoHeaders() throws(UsageError) {
    guard options.headers.isEmpty else {
      throw UsageError("--header goes with the schema of an endpoint, and this one is in a file; leave it out")
    }
  }

  // MARK: - What is written

  /// Where the manifest is written, if there is to be one, and where the configuration says so.
  private struct ManifestPath {
    let path: String
    let place: String?
  }

  private func manifest(
    _ configuration: ConfigurationFile, _ folder: String, _ sources: GenerationInputs
  ) throws(Failure) -> ManifestPath? {
    let given = options.manifest.map { ManifestPath(path: $0, place: nil) }
    let configured = configuration.manifest.map {
      ManifestPath(path: Self.path($0, in: folder), place: configuration.places["manifest"])
    }
    guard let manifest = given ?? configured else { return nil }
    guard !sources.haveFile(at: manifest.path) else {
      throw Failure(
        exitCode: .cannotWrite,
        message: "\(manifest.path): this file is read, so that no manifest is written to it; name another one"
      ).at(manifest.place)
    }
    return manifest
  }

  private func write(
    _ code: GeneratedCode, to folder: String, _ manifestPath: ManifestPath?, _ configuration: ConfigurationFile
  ) throws -> ExitCode {
    let isOnce = options.isOnce
    let output = GenerationOutput(
      folder, namedAt: options.output == nil ? configuration.places["output"] : nil, isOnce: isOnce)
    for file in code.files where isOnce ? !file.isEmpty : true {
      output.add(file.name, isOnce ? file.textWithoutHead : file.text)
    }
    let manifest = GraphQLManifest(code.operations.map { ($0.name, $0.kind.rawValue, $0.document) })
    if let manifestPath, let format = GraphQLManifest.Format(rawValue: configuration.manifestFormat) {
      let json = String(decoding: try manifest.json(format), as: UTF8.self)
      output.add(path: manifestPath.path, namedAt: manifestPath.place, json)
    }
    let changes = try output.changes()
    if options.isCheck {
      if options.isJSON {
        try console.writeJSON(changes.paths)
      } else {
        try console.write(changes.paths.map { "\(sanitized($0)) is not up to date\n" }.joined())
      }
      let (stale, files) = (changes.paths.count, counted(output.count, "file"))
      console.report(stale == 0 ? "\(files) up to date" : "not up to date: \(stale) of \(files)")
      return changes.paths.isEmpty ? .success : .invalid
    }
    try changes.carryOut()
    if options.isJSON { try console.writeJSON(operations(of: code, manifest)) }
    console.report(
      "\(counted(code.operations.count, "operation")): \(counted(changes.written.count, "file")) written, "
        + "\(output.count - changes.written.count) unchanged, \(changes.removed.count) removed")
    return .success
  }

  private struct Written: Encodable {
    let name: String
    let kind: String
    let type: String
    let file: String
    let source: String
    /// The id in a manifest: the hash of the document.
    let id: String
  }

  private func operations(of code: GeneratedCode, _ manifest: GraphQLManifest) -> [Written] {
    let ids = Dictionary(manifest.operations.map { ($0.body, $0.id) }) { first, _ in first }
    return code.operations.map {
      Written(
        name: $0.name, kind: $0.kind.rawValue, type: $0.type, file: $0.file, source: $0.source,
        id: ids[$0.document] ?? "")
    }
  }
}

extension GenerateCommand.Options {
  /// Throws if options do not go together, or name nothing.
  fileprivate func check() throws(UsageError) {
    if isCheck, isOnce { throw UsageError("'generate' takes one of --once and --check; see graphql --help") }
    if output == "" { throw UsageError("--output is empty; write . for this folder") }
    if manifest == "" { throw UsageError("--manifest is empty; name a file") }
    if manifest == "-" { throw UsageError("--manifest takes a file; 'graphql manifest' writes one to standard output") }
  }
}

extension String {
  /// An endpoint as messages show it: without what may be a secret.
  package var endpointShownSafely: String {
    guard var components = URLComponents(string: self), components.host?.isEmpty == false else {
      // In "user:password@host", the user is the scheme.
      return "an endpoint that is no URL"
    }
    (components.user, components.password, components.query, components.fragment) = (nil, nil, nil, nil)
    return components.string ?? "an endpoint that is no URL"
  }
}

/// The files that were read, for messages that show their lines.
private struct GenerationInputs {
  private var inputs: [String: Input] = [:]

  mutating func add(_ input: Input) -> GenerationSource {
    inputs[input.name] = input
    var source = GenerationSource(name: input.name, bytes: input.bytes)
    source.alwaysHasFile = !input.isFound
    return source
  }

  /// Whether a path leads to one of them.
  func haveFile(at path: String) -> Bool {
    guard let file = Input.resolved(path) else { return false }
    return inputs.keys.contains { Input.resolved($0) == file }
  }

  func finding(_ problem: GenerationProblem) -> Finding {
    var places: [Place] = []
    if let input = inputs[problem.file], let location = problem.location { places = [Place(input, location)] }
    return Finding(
      problem.rule, problem.message, at: places, in: problem.file,
      severity: problem.severity == .error ? .error : .warning)
  }
}
