/// What an entry of a table of HPACK counts as (RFC 7541, section 4.1): 32 bytes more than its name and its value.
enum HPACK {
  static let overhead = 32

  /// The size of the dynamic tables unless it is changed (RFC 9113, section 6.5.2).
  static let defaultTableSize = 4096

  /// The static table (RFC 7541, appendix A): its first entry has the index 1.
  static let staticTable: [(name: String, value: String)] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
  ]
}

/// An entry of a dynamic table.
protocol HPACKEntry {
  /// The size of name and value in bytes, and 32.
  var size: Int { get }
}

/// A dynamic table (RFC 7541, section 2.3.2): the entry that was inserted last has the index 0, and the oldest ones are
/// evicted as soon as all are larger than the limit.
struct DynamicTable<Entry: HPACKEntry> {
  /// The oldest first; those before `first` are evicted.
  private var entries: ContiguousArray<Entry> = []
  private var first = 0
  private(set) var size = 0
  private(set) var limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { entries.count - first }

  /// The entry at an index, which must be less than `count`.
  subscript(index: Int) -> Entry { entries[entries.count - 1 - index] }

  /// The index of the latest entry that satisfies a condition.
  @inline(__always)
  func firstIndex(where isSatisfied: (borrowing Entry) -> Bool) -> Int? {
    entries.withUnsafeBufferPointer { entries in
      var place = entries.count - 1
      while place >= first {
        if isSatisfied(entries[place]) { return entries.count - 1 - place }
        place -= 1
      }
      return nil
    }
  }

  /// Inserts an entry; one that is larger than the limit empties the table instead (section 4.4).
  mutating func insert(_ entry: Entry) {
    evict(downTo: limit - entry.size)
    guard entry.size <= limit else { return }
    entries.append(entry)
    size += entry.size
  }

  mutating func setLimit(_ limit: Int) {
    self.limit = limit
    evict(downTo: limit)
  }

  private mutating func evict(downTo limit: Int) {
    while size > max(limit, 0), first < entries.count {
      size -= entries[first].size
      first += 1
    }
    if first == entries.count {
      entries.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 32, first * 2 >= entries.count {
      entries.removeSubrange(..<first)
      first = 0
    }
  }
}
