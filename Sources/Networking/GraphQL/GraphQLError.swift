import HTTP
public import JSON

/// An error in a GraphQL response (GraphQL specification, section 7.1.2), bounded in size.
public struct GraphQLError: Hashable, Sendable {
  /// A position in the document.
  public struct Location: Hashable, Sendable, Codable {
    /// Counts from 1.
    public let line: Int
    /// Counts from 1.
    public let column: Int

    /// Makes a position.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }

  /// A step of a path into `data`.
  public enum PathElement: Hashable, Sendable {
    /// A member of an object.
    case key(String)
    /// An element of a list, from 0.
    case index(Int)
  }

  /// The server's message, at most 1 KiB of it.
  public let message: String

  /// The positions in the document; at most 8.
  public let locations: [Location]

  /// The path into `data`; empty if the error is about the whole response. At most 32 steps and 512 bytes.
  public let path: [PathElement]

  /// What else the server says, as far as it fits into 2 KiB; if its text takes more than 16 KiB, only the member
  /// `code`.
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

  /// The `code` in the extensions, by which servers classify errors, such as `UNAUTHENTICATED`.
  public var code: String? { extensions["code"]?.stringValue }

  /// Whether the server requires a token, or a valid one: the code is `UNAUTHENTICATED`, as in Apollo Server.
  public var isUnauthenticated: Bool { code == Self.unauthenticatedCode }

  static let unauthenticatedCode = "UNAUTHENTICATED"
}

extension GraphQLError: CustomStringConvertible {
  /// Message, path and code on one line.
  public var description: String {
    let place = path.isEmpty ? "" : " (at \(pathText))"
    return message.sanitized(upTo: 1024) + place + (code.map { " [\($0.sanitized(upTo: 64))]" } ?? "")
  }

  /// The path as text: `items[3].count`.
  public var pathText: String {
    path.reduce(into: "") { text, element in
      switch element {
      case .index(let index): text += "[\(index)]"
      case .key(let key): text += (text.isEmpty ? "" : ".") + key.sanitized(upTo: 64)
      }
    }
  }
}
