import HTTPClientCore
import StrictJSON
public import SystemBase

/// The recorded exchanges of a run, in the order in which their requests began: a JSON file that people can read and
/// review, and files beside it for bodies that are binary or large.
///
/// The file has an exchange after the other, each member on a line of its own; the article `Cassettes` of the module
/// GraphQLClient describes it. A ``RecordingTransport`` writes it, a ``ReplayingTransport`` replays it.
public struct Cassette: Hashable, Sendable {
  /// The exchanges.
  public let exchanges: [RecordedExchange]

  /// The version of the format that is written, and the latest that is read.
  static let version = 1

  init(_ exchanges: [RecordedExchange]) {
    self.exchanges = exchanges
  }

  /// Reads a file, and the bodies beside it.
  ///
  /// Throws `cannotRead` if a file is missing, `newerFormat` for one of a later version, and `damaged`, with the JSON path,
  /// for what is no cassette, or if a body beside it has been changed.
  public init(contentsOf file: URL) throws(CassetteError) {
    let name = file.lastPathComponent
    let bodies = BodyFolder(of: file)
    let contents = try file.contents()
    let recorded: [RecordedExchange]
    let version: Int
    do throws(JSONError) {
      version = try FormatVersion(json: contents.bytes).number
      recorded = version <= Self.version ? try Contents(json: contents.bytes).entries.map(\.exchange) : []
    } catch {
      throw CassetteError(.damaged, at: error.pathText, "'\(name)' is not a cassette: \(error)")
    }
    guard version <= Self.version else {
      throw CassetteError(
        .newerFormat, at: "cassette",
        "'\(name)' is a cassette of version \(version), a later one than \(Self.version): update the SDK, or record it "
          + "again.")
    }
    var exchanges: [RecordedExchange] = []
    for exchange in recorded {
      let resolved = try exchange.mappingBodies { (body) throws(CassetteError) -> RecordedBody in
        if case .file(let name) = body { try bodies.body(in: name) } else { body }
      }
      exchanges.append(resolved)
    }
    self.exchanges = exchanges
  }

  /// Writes the file and those beside it unless a secret stands in them: each whole or not at all, the cassette last.
  /// Bodies of an earlier recording that are no longer used are removed.
  func write(to file: URL, inlineLimit: Int, unless secrets: SecretFinder) throws(CassetteError) {
    let bodies = BodyFolder(of: file)
    var files: [String: Data] = [:]
    let contents = Contents(
      exchanges.map { exchange in
        exchange.mappingBodies { body in
          guard let (name, contents) = body.asFile(over: inlineLimit) else { return body }
          files[name] = contents
          return .file(name)
        }
      })
    let written: RawJSON
    let json: RecordedJSON
    do throws(JSONError) {
      written = try RawJSON(contents)
      json = try RecordedJSON(json: written.bytes.span.bytes)
    } catch {
      throw CassetteError(.cannotWrite, at: error.pathText, "The cassette cannot be written: \(error)")
    }
    if let (place, origin) = secrets.secret(in: json) { throw .holdsSecret(origin, at: place) }
    for (name, contents) in files.sorted(by: { $0.key < $1.key }) {
      if let origin = secrets.secret(in: contents) { throw .holdsSecret(origin, at: "\(bodies.name)/\(name)") }
    }
    try bodies.write(files)
    try file.replace(with: Data((written.indented + "\n").utf8))
    try bodies.remove(allBut: Set(files.keys))
  }

  /// The member that all versions of the format have.
  private struct FormatVersion: JSONDecodable {
    let number: Int

    init(from json: inout JSONReader) throws(JSONError) {
      number = try json.readMember("cassette")
    }
  }

  /// What the file holds.
  private struct Contents: JSONDecodable, JSONEncodable {
    let entries: [CassetteEntry]

    init(_ exchanges: [RecordedExchange]) {
      entries = exchanges.map { CassetteEntry($0) }
    }

    init(from json: inout JSONReader) throws(JSONError) {
      var entries: [CassetteEntry]?
      try json.beginObject()
      while try json.nextKey() {
        switch json.key {
        case "cassette": try json.skipValue()
        case "exchanges": entries = try json.read()
        default: throw json.mismatch("one of 'cassette' and 'exchanges'")
        }
      }
      self.entries = try json.require(entries, "exchanges")
    }

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      json.write("cassette", Cassette.version)
      json.write("exchanges", entries)
      json.endObject()
    }
  }
}

/// The folder beside a cassette with the bodies that are files: `timeline.bodies` beside `timeline.json`.
private struct BodyFolder {
  private let folder: URL
  private let cassette: String

  /// The folder's name.
  var name: String { folder.lastPathComponent }

  init(of file: URL) {
    folder = file.deletingPathExtension().appendingPathExtension("bodies")
    cassette = file.lastPathComponent
  }

  func body(in name: String) throws(CassetteError) -> RecordedBody {
    let contents = try folder.appending(path: name).contents()
    guard let body = RecordedBody(file: name, contents: contents) else {
      throw CassetteError(
        .damaged, at: "\(self.name)/\(name)",
        "The body '\(self.name)/\(name)' of '\(cassette)' is not the recorded one: its name is not its SHA-256.")
    }
    return body
  }

  func write(_ files: [String: Data]) throws(CassetteError) {
    guard !files.isEmpty else { return }
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw CassetteError(.cannotWrite, at: name, "The folder '\(name)' cannot be made: \(error)")
    }
    for (name, contents) in files { try folder.appending(path: name).replace(with: contents) }
  }

  /// Removes the bodies that no exchange uses, and the folder if nothing is left in it.
  func remove(allBut used: Set<String>) throws(CassetteError) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)) else {
      return
    }
    let unused = names.filter { RecordedBody.isFileName($0) && !used.contains($0) }
    do {
      for name in unused { try FileManager.default.removeItem(at: folder.appending(path: name)) }
      if unused.count == names.count { try FileManager.default.removeItem(at: folder) }
    } catch {
      throw CassetteError(.cannotWrite, at: name, "A body that is no longer used cannot be removed: \(error)")
    }
  }
}

extension URL {
  fileprivate func contents() throws(CassetteError) -> Data {
    do {
      return try Data(contentsOf: self)
    } catch {
      throw CassetteError(
        .cannotRead, at: lastPathComponent,
        "'\(path(percentEncoded: false))' cannot be read: \(error)")
    }
  }

  /// Writes a file beside this one, and puts it in its place.
  fileprivate func replace(with contents: Data) throws(CassetteError) {
    do {
      try contents.write(to: self, options: .atomic)
    } catch {
      throw CassetteError(
        .cannotWrite, at: lastPathComponent,
        "'\(path(percentEncoded: false))' cannot be written: \(error)")
    }
  }
}

extension CassetteError {
  fileprivate static func holdsSecret(_ origin: String, at place: String) -> CassetteError {
    CassetteError(
      .holdsSecret, at: place,
      "Nothing was recorded, since a secret stands at \(place): \(origin). Add its name to the names of CassetteSecrets, "
        + "or, if it is a header that is none, to the shownHeaders; or sign in with something that may be recorded.")
  }
}
