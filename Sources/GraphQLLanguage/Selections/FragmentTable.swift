/// The fragments of a document, or of a set of documents, by their names, and the spreads in each.
///
/// A spread means the fragment of that name in the document in which it stands, or else in the first document that has
/// one. Two fragments of one name in a document are an error, which validation reports (GraphQL specification, section
/// 5.5.1.1); the last counts, as in graphql-js, so that everything else that is found in such a document is the same, too.
package struct FragmentTable: Sendable {
  /// A fragment of a document.
  package struct Fragment: Sendable {
    package let syntax: FragmentSyntax
    /// The number of the document that it is in.
    package let document: Int
    /// What it spreads itself, in order.
    package fileprivate(set) var spreads: [Spread] = []
  }

  /// The name of a fragment in a selection set.
  package struct Spread: Sendable {
    package let syntax: FragmentSpreadSyntax
    /// The number of the fragment that it means; `nil` if there is none.
    package let fragment: Int?
  }

  /// All fragments in the order of the documents, also those that do not count. The place of a fragment is its number.
  package private(set) var all: [Fragment] = []

  /// The fragments of one document.
  private struct Names: Sendable {
    let range: Range<Int>
    /// The number of the fragment with a name; empty for a few, which are found faster without an index.
    var numbers: [NameSyntax: Int] = [:]
  }

  private var names: [Names] = []
  /// The number of the fragment with a name that counts where a document has none of its own.
  private var shared: [NameSyntax: Int] = [:]

  /// The fragments of one document.
  package init(_ document: DocumentSyntax) {
    self.init([document])
  }

  /// The fragments of documents that are one set.
  package init(_ documents: [DocumentSyntax]) {
    for (number, document) in documents.enumerated() {
      let start = all.count
      for node in document.node.children where node.kind == .fragmentDefinition {
        if let syntax = FragmentSyntax(node) { all.append(Fragment(syntax: syntax, document: number)) }
      }
      var own = Names(range: start..<all.count)
      if own.range.count > 8 || documents.count > 1 {
        for number in own.range { own.numbers[all[number].syntax.name] = number }
        shared.merge(own.numbers) { first, _ in first }
      }
      names.append(own)
    }
    for number in all.indices { all[number].spreads = spreads(in: all[number].syntax.node, of: all[number].document) }
  }

  /// The number of the fragment that a name means in a document.
  package func fragment(named name: NameSyntax, in document: Int = 0) -> Int? {
    let own = names[document]
    if own.numbers.isEmpty, let number = own.range.last(where: { all[$0].syntax.name == name }) { return number }
    return own.numbers[name] ?? shared[name]
  }

  /// The spreads in a definition of a document, in order.
  package func spreads(in definition: SyntaxNode, of document: Int = 0) -> [Spread] {
    var spreads: [Spread] = []
    for id in definition.subtree where definition.tree.nodes[Int(id)].kind == .fragmentSpread {
      guard let syntax = FragmentSpreadSyntax(SyntaxNode(definition.tree, id)) else { continue }
      spreads.append(Spread(syntax: syntax, fragment: fragment(named: syntax.name, in: document)))
    }
    return spreads
  }

  /// The fragments that a definition uses, directly or through others; see `reached(from:)`.
  package func reached(from definition: SyntaxNode, in document: Int = 0) -> [Int] {
    reached(from: spreads(in: definition, of: document))
  }

  /// The fragments that spreads mean, and those that these use, each once, in the order in which they are met: those of a
  /// fragment follow it, before what is spread after it.
  package func reached(from spreads: [Spread]) -> [Int] {
    reached(from: spreads, of: 0) { spread, _ in spread.fragment.map { $0..<($0 + 1) } ?? 0..<0 }
  }

  /// The fragments that spreads may mean, and those that these may use.
  /// - Parameters:
  ///   - spreads: Spreads in a document.
  ///   - meaning: The fragments that a spread in a document may mean. It is called once for each spread that is met.
  package func reached(
    from spreads: [Spread], of document: Int, _ meaning: (Spread, Int) -> some Sequence<Int>
  ) -> [Int] {
    var reached: [Int] = []
    var isReached = Array(repeating: false, count: all.count)
    // The spreads themselves, and the fragments that are being followed, each with the place of its next spread.
    var open: [(fragment: Int?, next: Int)] = [(nil, 0)]
    while let (fragment, next) = open.last {
      guard next < fragment.map({ all[$0].spreads.count }) ?? spreads.count else {
        open.removeLast()
        continue
      }
      open[open.count - 1].next += 1
      let spread = fragment.map { all[$0].spreads[next] } ?? spreads[next]
      for number in meaning(spread, fragment.map { all[$0].document } ?? document) where !isReached[number] {
        isReached[number] = true
        reached.append(number)
        open.append((number, 0))
      }
    }
    return reached
  }
}

extension SyntaxNode {
  /// The nodes of a kind in this one, in order.
  package func descendants(_ kind: SyntaxKind) -> [SyntaxNode] {
    var nodes: [SyntaxNode] = []
    for id in subtree where tree.nodes[Int(id)].kind == kind { nodes.append(SyntaxNode(tree, id)) }
    return nodes
  }
}
