public import Foundation

/// Certificates or a key as PEM text (RFC 7468), in a file or in memory.
///
/// Its description shows no contents, as they may be a private key.
public struct PEM: Hashable, Sendable {
  private enum Source: Hashable {
    case file(String)
    case bytes(Data)
  }

  private let source: Source

  /// A file, read when the first connection is made; a relative path counts from the working directory.
  public static func file(_ path: String) -> PEM {
    PEM(source: .file(path))
  }

  /// The text itself.
  public static func bytes(_ bytes: Data) -> PEM {
    PEM(source: .bytes(bytes))
  }

  /// The bytes; throws `insecure` where a file cannot be read.
  func read() throws(RequestError) -> Data {
    switch source {
    case .bytes(let bytes): return bytes
    case .file(let path):
      do {
        return try Data(contentsOf: URL(filePath: path))
      } catch {
        throw RequestError(.insecure, "Cannot read the PEM file '\(path)': \(error.localizedDescription)", cause: error)
      }
    }
  }
}

extension PEM: CustomStringConvertible, CustomReflectable {
  /// The path of a file, or the number of bytes.
  public var description: String {
    switch source {
    case .file(let path): "the file '\(path)'"
    case .bytes(let bytes): "\(bytes.count) bytes of PEM"
    }
  }

  /// Nothing but the description, so that no dump shows a key.
  public var customMirror: Mirror {
    Mirror(self, children: ["source": description])
  }
}
