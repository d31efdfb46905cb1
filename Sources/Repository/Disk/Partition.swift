package import Foundation

/// What belongs to one account, say: a folder of its own in those of caches and outboxes.
package enum Partition {
  /// The folder of a partition; any text is a name.
  package static func folder(of name: String, in folder: URL) -> URL {
    folder.appendingPathComponent(RecordName(hashing: name.utf8).hexadecimal)
  }
}
