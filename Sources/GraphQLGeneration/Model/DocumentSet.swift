import GraphQLLanguage

/// A text with the name of its file.
public struct GenerationSource: Hashable, Sendable {
  /// The file, as messages call it.
  public let name: String

  /// The text in UTF-8.
  public let bytes: [UInt8]

  /// Whether a file is generated of a document even if it has no operation and no fragment, as a build expects it;
  /// `false` by default.
  public var alwaysHasFile = false

  /// Takes a file's text.
  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }

  /// Takes a file's text.
  public init(name: String, text: String) {
    self.init(name: name, bytes: Array(text.utf8))
  }
}

/// Files with operations and fragments as one document, in which any operation may use any fragment.
struct DocumentSet {
  struct File {
    let name: String
    /// Where its text begins in that of all.
    let offset: Int
    /// Its first line in the text of all.
    let line: Int
  }

  /// The files that have operations or fragments, and those of which a file is generated all the same.
  let files: [File]
  let syntax: DocumentSyntax
  let fragments: FragmentTable

  /// Reads files; those that are no GraphQL become problems, and those without operations and fragments are left out: a
  /// folder may hold the schema, too. `nil` if none is left.
  init?(_ sources: [GenerationSource], _ problems: inout [GenerationProblem]) {
    var files: [File] = []
    var text: [UInt8] = []
    var line = 1
    for source in sources {
      do throws(GraphQLSyntaxError) {
        let document = try DocumentSyntax(parsing: source.bytes)
        let isExecutable = document.definitions.contains(where: \.isExecutable)
        guard isExecutable || source.alwaysHasFile else { continue }
        files.append(File(name: source.name, offset: text.count, line: line))
        guard isExecutable else { continue }
        text += source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? source.bytes.dropFirst(3) : source.bytes[...]
        // The space keeps the line end from being one with that of the text before it.
        text += Array(" \n".utf8)
        line += source.bytes.lineEnds + 1
      } catch {
        problems.append(GenerationProblem(error.message, in: source.name, at: error.location, rule: "Syntax"))
      }
    }
    guard !text.isEmpty else {
      if problems.isEmpty { problems.append(GenerationProblem("there is no operation in any file", in: "documents")) }
      return nil
    }
    do throws(GraphQLSyntaxError) {
      syntax = try DocumentSyntax(parsing: text)
    } catch {
      // Each is GraphQL, so that all together can only be too long.
      problems.append(GenerationProblem("the documents together are too long: \(error.message)", in: "documents"))
      return nil
    }
    self.files = files
    fragments = FragmentTable(syntax)
  }

  /// The number of the file that has a place of the text.
  func file(at offset: Int) -> Int { (files.partitioningIndex { $0.offset > offset }) - 1 }

  /// A problem at a place of the text of all.
  func problem(
    _ message: String, at location: SourceLocation, rule: String? = nil, severity: GenerationProblem.Severity = .error
  ) -> GenerationProblem {
    let index = files.partitioningIndex { $0.line > location.line } - 1
    guard files.indices.contains(index) else { return GenerationProblem(message, in: "documents", rule: rule) }
    let place = SourceLocation(line: location.line - files[index].line + 1, column: location.column)
    return GenerationProblem(message, in: files[index].name, at: place, rule: rule, severity: severity)
  }
}

extension Array {
  /// The first index at which a condition holds that holds for all behind it, too.
  fileprivate func partitioningIndex(where belongsToSecond: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if belongsToSecond(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
