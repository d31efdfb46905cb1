import HTTP
public import JSON

/// An error of a GraphQL answer (GraphQL specification, section 7.1.2), bounded in size.
public struct GraphQLError: Hashable, Sendable {
  /// A place in the document.
  public struct Location: Hashable, Sendable, Codable {
    /// Counts from 1.
    public let line: Int
    /// Counts from 1.
    public let column: Int
  }

  /// A step to a place in `data`.
  public enum PathElement: Hashable, Sendable {
    /// A member of an object.
    case key(String)
    /// An element of a list, from 0.
    case index(Int)
  }

  /// What happened, in the server's words, at most 1 KiB of them.
  public let message: String

  /// Where in the document; at most 8 places.
  public let locations: [Location]

  /// Where in `data`; empty where the error is about the whole; at most 32 steps and 512 bytes.
  public let path: [PathElement]

  /// What else the server tells, where that is at most 2 KiB.
  public let extensions: [String: JSONValue]

  /// Makes an error.
  public init(
    message: String, locations: [Location] = [], path: [PathElement] = [], extensions: [String: JSONValue] = [:]
  ) {
    self.message = message
    self.locations = locations
    self.path = path
    self.extensions = extensions
  }

  /// The member `code` of the extensions, by which servers tell errors apart: `UNAUTHENTICATED`, say.
  public var code: String? { extensions["code"]?.stringValue }

  /// Whether the server asks for a token, or for a valid one, by the code `UNAUTHENTICATED`, as Apollo Server does.
  public var isUnauthenticated: Bool { code == Self.unauthenticatedCode }

  static let unauthenticatedCode = "UNAUTHENTICATED"
}

extension GraphQLError: CustomStringConvertible {
  /// Message, path and code in one line.
  public var description: String {
    let place = path.isEmpty ? "" : " (at \(pathText))"
    return message.harmless(upTo: 1024) + place + (code.map { " [\($0.harmless(upTo: 64))]" } ?? "")
  }

  /// The path as text: `moments[3].viewCount`.
  public var pathText: String {
    path.reduce(into: "") { text, element in
      switch element {
      case .index(let index): text += "[\(index)]"
      case .key(let key): text += (text.isEmpty ? "" : ".") + key.harmless(upTo: 64)
      }
    }
  }
}
