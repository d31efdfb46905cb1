import CommandLineBase
import GraphQLClient
import GraphQLGeneration
import GraphQLLanguage
import GraphQLSchema
import HTTPClientCore
import SystemBase

/// `generate`.
extension GraphQLCommand {
  func generate() async throws -> ExitCode {
    var sources = GenerationInputs()
    do {
      let (configuration, folder) = try readConfiguration(&sources)
      let schema = try await schemaSources(configuration, folder, &sources)
      let paths = arguments.files.isEmpty ? configuration.documents.map { Self.path($0, in: folder) } : arguments.files
      guard !paths.isEmpty else {
        throw Failure(
          exitCode: .usage, message: "'generate' needs files, or \"documents\" in its configuration; see graphql --help"
        )
      }
      guard let output = arguments.output ?? configuration.output.map({ Self.path($0, in: folder) }) else {
        throw Failure(
          exitCode: .usage, message: "'generate' needs --output, or \"output\" in its configuration; see graphql --help"
        )
      }
      let documents = try inputs(paths, endings: ["graphql", "gql"], without: schema.map(\.name)).map {
        sources.add($0)
      }
      let code = try Generator(configuration.generation).generate(schema: schema, documents: documents)
      if !arguments.flags.contains(.noWarnings) { report(onStandardError: code.warnings.map(sources.finding)) }
      return try write(code, to: output, configuration, folder)
    } catch let failure as GenerationFailure {
      report(onStandardError: failure.problems.map(sources.finding))
      throw Failure(
        exitCode: .invalid,
        message: "nothing is written: \(counted(failure.problems.count { $0.severity == .error }, "error"))")
    }
  }

  // MARK: - What is read

  /// Reads the configuration; returns its folder, too, empty or with a slash at its end.
  private func readConfiguration(_ sources: inout GenerationInputs) throws -> (ConfigurationFile, folder: String) {
    let path = arguments.config ?? "graphql.json"
    if arguments.config == nil, access(path, F_OK) != 0 { return (ConfigurationFile(), "") }
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
    if let path = arguments.schema { return [sources.add(try Input(path))] }
    switch configuration.schema {
    case .files(let paths): return try paths.map { sources.add(try Input(Self.path($0, in: folder))) }
    case .endpoint(let endpoint, let headers):
      let fields = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" } + arguments.headers
      let (_, body) = try await downloadedSchema(endpoint, fields)
      return [GenerationSource(name: endpoint, bytes: Array(body))]
    case nil:
      throw Failure(
        exitCode: .usage, message: "'generate' needs --schema, or \"schema\" in its configuration; see graphql --help")
    }
  }

  // MARK: - What is written

  private func write(
    _ code: GeneratedCode, to folder: String, _ configuration: ConfigurationFile, _ base: String
  ) throws -> ExitCode {
    let isOnce = arguments.flags.contains(.once)
    let output = GenerationOutput(folder, isOnce: isOnce)
    for file in code.files where isOnce ? !file.isEmpty : true {
      output.add(file.name, isOnce ? file.textWithoutMarker : file.text)
    }
    let manifest = GraphQLManifest(code.operations.map { ($0.name, $0.kind.rawValue, $0.document) })
    if let path = configuration.manifest, let format = GraphQLManifest.Format(rawValue: configuration.manifestFormat) {
      output.add(path: Self.path(path, in: base), String(decoding: try manifest.json(format), as: UTF8.self))
    }
    let changes = try output.changes()
    if arguments.flags.contains(.check) {
      for path in changes.paths { try console.write("\(path.sanitized()) is not up to date\n") }
      console.report("not up to date: \(changes.paths.count) of \(counted(output.count, "file"))")
      return changes.paths.isEmpty ? .success : .invalid
    }
    try changes.carryOut()
    if arguments.flags.contains(.json) { try writeJSON(operations(of: code, manifest)) }
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

/// The files that were read, for messages that show their lines.
private struct GenerationInputs {
  private var inputs: [String: Input] = [:]

  mutating func add(_ input: Input) -> GenerationSource {
    inputs[input.name] = input
    return GenerationSource(name: input.name, bytes: input.bytes)
  }

  func finding(_ problem: GenerationProblem) -> Finding {
    var places: [Place] = []
    if let input = inputs[problem.file], let location = problem.location { places = [Place(input, location)] }
    return Finding(
      problem.rule, problem.message, at: places, in: problem.file,
      severity: problem.severity == .error ? .error : .warning)
  }
}
