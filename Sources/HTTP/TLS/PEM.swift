public import Foundation

/// Certificates or a key as PEM text (RFC 7468), in a file or in memory.
///
/// Its description does not show the contents, which may be a private key.
public struct PEM: Hashable, Sendable {
  private enum Source: Hashable {
    case file(String)
    case bytes(Data, path: String?)
  }

  private let source: Source

  /// A file of at most 4 MiB, read when the first connection is made, and again when it has changed; a relative path is
  /// relative to the working directory.
  public static func file(_ path: String) -> PEM {
    PEM(source: .file(path))
  }

  /// The text itself.
  public static func bytes(_ bytes: Data) -> PEM {
    PEM(source: .bytes(bytes, path: nil))
  }

  /// The text of a file, read now, because a pipe can be read only once. Throws `insecure` if it cannot be read.
  package static func reading(_ path: String) throws(RequestError) -> PEM {
    PEM(source: .bytes(try file(path).read(), path: path))
  }

  /// The path of a file that is read when it is needed.
  var file: String? {
    if case .file(let path) = source { path } else { nil }
  }

  /// Many times the size of all authorities of a system.
  private static let largestFile = 4 << 20

  /// The bytes; throws `insecure` if a file cannot be read or is larger than 4 MiB.
  func read() throws(RequestError) -> Data {
    switch source {
    case .bytes(let bytes, _): return bytes
    case .file(let path):
      let contents: Data
      do {
        // Not Data(contentsOf:), which refuses pipes.
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        var bytes = Data()
        while bytes.count <= Self.largestFile, let piece = try file.read(upToCount: Self.largestFile), !piece.isEmpty {
          bytes += piece
        }
        contents = bytes
      } catch {
        throw RequestError(.insecure, "Cannot read the PEM file '\(path)': \(error.localizedDescription)", cause: error)
      }
      guard contents.count <= Self.largestFile else {
        throw RequestError(.insecure, "The PEM file '\(path)' is larger than \(Self.largestFile) bytes.")
      }
      return contents
    }
  }
}

extension PEM: CustomStringConvertible, CustomReflectable {
  /// The path of the file, or the number of bytes.
  public var description: String {
    switch source {
    case .file(let path), .bytes(_, let path?): "the file '\(path)'"
    case .bytes(let bytes, nil): "\(bytes.count) bytes of PEM"
    }
  }

  /// Only the description, so that no dump shows a key.
  public var customMirror: Mirror {
    Mirror(self, children: ["source": description])
  }
}
