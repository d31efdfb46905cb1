package import Foundation

/// The data of one account, for example: a folder of its own within those of caches and outboxes.
package enum Partition {
  /// The folder of a partition; any text will do as a name.
  package static func folder(of name: String, in folder: URL) -> URL {
    folder.appendingPathComponent(RecordName(hashing: name.utf8).hexadecimal)
  }
}
