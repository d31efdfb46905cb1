// Texts byte by byte: `String` takes those for equal that look alike, as "é" of one scalar and of two, which may be two
// accounts, or two secrets.

extension String {
  /// Whether the texts have the same bytes.
  package func hasBytes(of other: String) -> Bool {
    let result = utf8.withContiguousStorageIfAvailable { own in
      other.utf8.withContiguousStorageIfAvailable { others in
        guard own.count == others.count, let start = own.baseAddress, let othersStart = others.baseAddress else {
          return own.count == others.count
        }
        return memcmp(start, othersStart, own.count) == 0
      }
    }
    return (result ?? nil) ?? utf8.elementsEqual(other.utf8)
  }

  /// Hashes the bytes, and their end.
  package func hashBytes(into hasher: inout Hasher) {
    var text = self
    text.withUTF8 { bytes in
      hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
      hasher.combine(bytes.count)
    }
  }
}

/// A text as a dictionary's key, which is compared by its bytes.
package struct ExactText: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasBytes(of: right.text) }

  package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String? {
  /// Whether both texts have the same bytes, or there is none.
  package func hasBytes(of other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.hasBytes(of: other)
  }
}
