import Foundation
import GraphQLClient

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of an XML document, with all that is in it, read by Foundation's parser.
struct XMLTree {
  /// What stands in an element: text, that in CDATA sections too, or another element.
  enum Content {
    case text(String)
    case element(XMLTree)
  }

  /// The name, without a prefix.
  let name: String
  /// The namespace; empty for none.
  let namespace: String
  /// The attributes, by their names as they are written.
  let attributes: [String: String]
  /// What is in it, in order, with all white space.
  fileprivate(set) var content: [Content] = []

  /// All text in the element and in those below it, without white space around it.
  var text: String { allText.trimmingCharacters(in: .whitespacesAndNewlines) }

  private var allText: String {
    content.map {
      switch $0 {
      case .text(let text): text
      case .element(let element): element.allText
      }
    }.joined()
  }

  /// The elements of a name right below, in the namespace of this one: `media:title` is no `title`.
  func children(_ name: String) -> [XMLTree] {
    content.compactMap {
      guard case .element(let child) = $0, child.name == name, child.namespace == namespace else { return nil }
      return child
    }
  }

  /// The first such element.
  func child(_ name: String) -> XMLTree? { children(name).first }

  /// The text of the first such element, unless there is none.
  func text(of name: String) -> String? {
    guard let text = child(name)?.text, !text.isEmpty else { return nil }
    return text
  }
}

extension XMLTree {
  /// Reads a document that is within the limits of ``XMLLimits``. Throws if it is not well-formed.
  init(parsing document: Data) throws(DecodingFailure) {
    let parser = XMLParser(data: document)
    parser.shouldProcessNamespaces = true
    let builder = Builder()
    parser.delegate = builder
    // `parse` returns true also for a document that ends too early.
    guard parser.parse(), parser.parserError == nil, let root = builder.root else {
      throw DecodingFailure(path: "", reason: "XML that is not well-formed, at line \(max(parser.lineNumber, 1))")
    }
    self = root
  }

  private final class Builder: NSObject, XMLParserDelegate {
    var root: XMLTree?
    private var open: [XMLTree] = []

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      open.append(XMLTree(name: name, namespace: namespaceURI ?? "", attributes: attributes))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      guard let ended = open.popLast() else { return }
      if open.isEmpty { root = ended } else { append(.element(ended)) }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) { append(.text(text)) }

    func parser(_ parser: XMLParser, foundCDATA block: Data) { append(.text(String(decoding: block, as: UTF8.self))) }

    private func append(_ content: Content) {
      guard !open.isEmpty else { return }
      open[open.count - 1].content.append(content)
    }
  }
}
