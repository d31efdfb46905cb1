import GraphQLCommandLine
import GraphQLLanguage
import GraphQLSchema

/// A text of GraphQL in a file: all of it, or a literal of Swift.
struct Source {
  let input: Input
  let bytes: [UInt8]
  private let anchors: [SwiftLiterals.Anchor]

  init(_ input: Input) {
    (self.input, bytes, anchors) = (input, input.bytes, [])
  }

  init(_ literal: SwiftLiterals.Literal, in input: Input) {
    (self.input, bytes, anchors) = (input, literal.text, literal.anchors)
  }

  /// Where a place of the text is in the file.
  func place(_ location: SourceLocation) -> Place {
    guard let anchor = anchors.last(where: { $0.inText <= location }) else { return Place(input, location) }
    let column = anchor.inFile.column + max(0, location.column - anchor.inText.column)
    return Place(input, SourceLocation(line: anchor.inFile.line, column: column))
  }
}

/// The documents of files: one set, in which an operation may use the fragments of any file, or each file alone.
///
/// Of several fragments with one name, that of the own document counts, else that of the own file.
struct Documents {
  struct Document {
    let source: Source
    let syntax: DocumentSyntax
  }

  private(set) var all: [Document] = []
  /// What cannot be read.
  private(set) var findings: [Finding] = []
  private let isSeparate: Bool
  private var fragments = FragmentTable([])
  /// The numbers of the fragments that have a name, in all documents.
  private var numbers: [NameSyntax: [Int]] = [:]
  private var files = 0
  private var swiftFiles = 0
  private var literals = 0
  private var unreadLiterals = 0

  /// The endings of the names of files in folders.
  static let endings: Set = ["graphql", "gql", "swift"]

  init(_ inputs: [Input], isSeparate: Bool) {
    self.isSeparate = isSeparate
    for input in inputs { if input.isSwift { addLiterals(of: input) } else { add(Source(input)) } }
    fragments = FragmentTable(all.map(\.syntax))
    numbers = Dictionary(grouping: fragments.all.indices) { fragments.all[$0].syntax.name }
  }

  private mutating func addLiterals(of input: Input) {
    let swift = SwiftLiterals(input)
    swiftFiles += 1
    literals += swift.documents.count
    unreadLiterals += swift.unread.count
    for document in swift.documents { add(Source(document, in: input)) }
    for (place, reason) in swift.unread {
      findings.append(
        Finding(nil, "this literal cannot be read: \(reason)", at: [Place(input, place)], severity: .warning))
    }
  }

  private mutating func add(_ source: Source) {
    do throws(GraphQLSyntaxError) {
      let syntax = try DocumentSyntax(parsing: source.bytes)
      // A folder may hold the schema, too.
      if source.input.isFound, !syntax.definitions.contains(where: \.isExecutable) { return }
      all.append(Document(source: source, syntax: syntax))
    } catch {
      findings.append(Finding(error, in: source))
    }
    if !source.input.isSwift { files += 1 }
  }

  /// How much was read, for people.
  var summary: String {
    let operations = all.reduce(0) { $0 + $1.syntax.operations.count }
    let fragments = all.reduce(0) { $0 + $1.syntax.fragments.count }
    var text = "\(counted(operations, "operation")) and \(counted(fragments, "fragment")) in "
    text += [
      files > 0 || swiftFiles == 0 ? counted(files, "file") : nil,
      swiftFiles > 0 ? "\(counted(literals, "literal")) of \(counted(swiftFiles, "Swift file"))" : nil,
    ].compactMap { $0 }.joined(separator: " and ")
    return unreadLiterals > 0 ? "\(text) (\(counted(unreadLiterals, "literal")) could not be read)" : text
  }

  // MARK: - Fragments

  /// The fragments that may be meant by a name in a document: more than one if it is not clear which.
  private func candidates(_ name: NameSyntax, in document: Int) -> [Int] {
    if let own = fragments.fragment(named: name, in: document), fragments.all[own].document == document { return [own] }
    let all = numbers[name] ?? []
    let file = self.all[document].source.input.name
    let near = all.filter { self.all[fragments.all[$0].document].source.input.name == file }
    var texts: Set<String> = []
    // What is written alike is the same.
    return (near.isEmpty && !isSeparate ? all : near).filter { texts.insert(fragments.all[$0].syntax.text).inserted }
  }

  /// The fragments that nodes of a document use, directly or through others, in the order in which they are met.
  struct Uses {
    var fragments: [FragmentTable.Fragment] = []
    /// The findings about fragments that are in no file.
    var missing: [Finding] = []
    /// The findings about names that do not say which fragment is meant.
    var ambiguous: [Finding] = []
  }

  func uses(of nodes: [SyntaxNode], in document: Int) -> Uses {
    var uses = Uses()
    var texts: Set<String> = []
    let spreads = nodes.flatMap { fragments.spreads(in: $0, of: document) }
    let reached = fragments.reached(from: spreads, of: document) { spread, document in
      let found = candidates(spread.syntax.name, in: document)
      if found.isEmpty {
        uses.missing.append(
          Finding(
            ValidationRule.knownFragmentNames.rawValue, "there is no fragment \"\(spread.syntax.name)\"",
            at: [all[document].source.place(spread.syntax.name.location)]))
      }
      if found.count > 1 { uses.ambiguous.append(ambiguity(found.map { fragments.all[$0] })) }
      return found.prefix(1).filter { texts.insert(fragments.all[$0].syntax.text).inserted }
    }
    uses.fragments = reached.map { fragments.all[$0] }
    let byName = Dictionary(grouping: uses.fragments) { $0.syntax.name.text }
    uses.ambiguous += byName.sorted { $0.key < $1.key }.filter { $1.count > 1 }.map { ambiguity($1) }
    return uses
  }

  /// Literals of one name may be constants of different types, of which the program uses the right one.
  private func ambiguity(_ fragments: [FragmentTable.Fragment]) -> Finding {
    let isSwift = fragments.contains { all[$0.document].source.input.isSwift }
    return Finding(
      ValidationRule.uniqueFragmentNames.rawValue,
      "there are \(fragments.count) fragments \"\(fragments[0].syntax.name)\"",
      at: fragments.map { all[$0.document].source.place($0.syntax.location) }, severity: isSwift ? .warning : .error)
  }

  // MARK: - Whole documents

  /// A document with the fragments of others that it uses.
  struct Whole {
    fileprivate(set) var syntax: DocumentSyntax
    /// Where each text begins: its first line in the whole, and its place in the document that it is from.
    fileprivate var parts: [(line: Int, source: Source, start: SourceLocation)]

    /// Where a place of the whole is in a file.
    func place(_ location: SourceLocation) -> Place {
      guard let part = parts.last(where: { $0.line <= location.line }) else { return parts[0].source.place(location) }
      let line = location.line - part.line
      let column = line == 0 ? part.start.column + location.column - 1 : location.column
      return part.source.place(SourceLocation(line: part.start.line + line, column: column))
    }
  }

  /// A document with all fragments that it uses, and what is wrong with these names.
  func whole(_ index: Int) throws(GraphQLSyntaxError) -> (whole: Whole, uses: Uses) {
    let document = all[index]
    let uses = uses(of: document.syntax.definitions.map(\.node), in: index)
    let own = Set(document.syntax.fragments.map(\.text))
    let others = uses.fragments.filter { $0.document != index && !own.contains($0.syntax.text) }
    let start = SourceLocation(line: 1, column: 1)
    var whole = Whole(syntax: document.syntax, parts: [(1, document.source, start)])
    guard !others.isEmpty else { return (whole, uses) }
    var bytes = document.source.bytes
    var line = 1 + bytes.lineEnds
    for fragment in others {
      let text = Array(fragment.syntax.text.utf8)
      line += 1
      whole.parts.append((line, all[fragment.document].source, fragment.syntax.location))
      line += text.lineEnds
      // The space keeps the line end from being one with that of the text before it.
      bytes += Array(" \n".utf8) + text
    }
    whole.syntax = try DocumentSyntax(parsing: bytes)
    return (whole, uses)
  }
}

// MARK: - Validation

extension Documents {
  /// What is wrong with the documents, each fault once: also one in a fragment that many use.
  func validated(by schema: Schema) -> [Finding] {
    var found = findings
    // In a set, a fragment may be there for other files.
    let rules = Set(ValidationRule.allCases).subtracting(isSeparate ? [] : [.noUnusedFragments])
    for index in isValidTogether(by: schema, rules) ? 0..<0 : all.indices {
      do throws(GraphQLSyntaxError) {
        let (whole, uses) = try whole(index)
        found += uses.ambiguous
        found += schema.validate(whole.syntax, rules: rules).map { error in
          Finding(
            error.rule?.rawValue, error.message, at: error.locations.map(whole.place), in: all[index].source.input.name)
        }
      } catch {
        found.append(Finding(error, in: all[index].source))
      }
    }
    if !isSeparate { found += unusedFragments() }
    var seen: Set<Finding.Identity> = []
    return found.filter { seen.insert($0.identity).inserted }
  }

  /// Whether the documents are valid as one, in which each fragment is checked once, however many documents use it. What
  /// is wrong is found in each by itself.
  private func isValidTogether(by schema: Schema, _ rules: Set<ValidationRule>) -> Bool {
    guard !isSeparate, all.count > 1, numbers.values.allSatisfy({ $0.count == 1 }),
      let together = try? DocumentSyntax(parsing: Array(all.map(\.source.bytes).joined(separator: [0x0A])))
    else { return false }
    let ofEach: Set<ValidationRule> = [.uniqueOperationNames, .loneAnonymousOperation]
    return schema.validate(together, rules: rules.subtracting(ofEach), limit: 1).isEmpty
      && all.allSatisfy { schema.validate($0.syntax, rules: ofEach, limit: 1).isEmpty }
  }

  private func unusedFragments() -> [Finding] {
    let reached = all.indices.map { index in
      let spreads = all[index].syntax.operations.flatMap { fragments.spreads(in: $0.node, of: index) }
      return fragments.reached(from: spreads, of: index) { candidates($0.syntax.name, in: $1) }
    }
    let used = Set(Set(reached.joined()).map { fragments.all[$0].syntax.text })
    return all.flatMap { document in
      document.syntax.fragments.filter { !used.contains($0.text) }.map { fragment in
        Finding(
          ValidationRule.noUnusedFragments.rawValue, "the fragment \"\(fragment.name.text)\" is never used",
          at: [document.source.place(fragment.location)], severity: document.source.input.isSwift ? .warning : .error)
      }
    }
  }
}

extension Finding {
  init(_ error: GraphQLSyntaxError, in source: Source) {
    self.init("Syntax", error.message, at: [source.place(error.location)])
  }
}
