/// What generated files are called.
///
/// The plugin of builds has this file, too: it says what will be generated before anything is.
enum FileNames {
  /// The name of the file with what operations share: the enums and input objects of the schema.
  static let shared = "Schema.graphql.swift"

  /// The name of the file with the schema of a normalised cache, if there is to be one.
  static let recordSchema = "RecordSchema.graphql.swift"

  /// The names of the files that are generated of documents, in their order: that of the document, and where several have
  /// one, those of its folders before it, too.
  static func swift(ofDocuments names: [String]) -> [String] {
    let parts = names.map { $0.split(separator: "/").filter { $0 != "." && $0 != ".." }.map(String.init) }
    var lengths = Array(repeating: 1, count: names.count)
    func name(_ index: Int) -> String { parts[index].suffix(lengths[index]).joined(separator: "+") + ".swift" }
    while true {
      let alike = Dictionary(grouping: names.indices) { name($0).lowercased() }.values.filter { $0.count > 1 }
      let extensible = alike.joined().filter { lengths[$0] < parts[$0].count }
      if extensible.isEmpty { return names.indices.map(name) }
      for index in extensible { lengths[index] += 1 }
    }
  }

  /// The documents of which no file can be generated, as their names with all of their folders are those of documents before
  /// them, too; each with the first of these. Case does not tell names apart, unless it alone tells the documents apart.
  static func clashes(ofDocuments names: [String]) -> [(document: String, other: String, file: String)] {
    let files = swift(ofDocuments: names)
    var groups: [String: [Int]] = [:]
    var clashes: [(document: String, other: String, file: String)] = []
    for index in names.indices {
      let earlier = groups[files[index].lowercased(), default: []].first {
        files[$0].utf8.elementsEqual(files[index].utf8) || names[$0].lowercased() != names[index].lowercased()
      }
      if let earlier { clashes.append((names[index], names[earlier], files[index])) }
      groups[files[index].lowercased(), default: []].append(index)
    }
    return clashes
  }
}
