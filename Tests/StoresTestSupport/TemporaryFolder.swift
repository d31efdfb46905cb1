package import Foundation

/// A folder that goes away with this object.
package final class TemporaryFolder: Sendable {
  package let url: URL

  package init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("moments-tests-\(UUID().uuidString)")
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// All files in it, by their paths from here on.
  package var files: [String] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: url.path)) ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path(name), isDirectory: &isFolder)
      return !isFolder.boolValue
    }.sorted()
  }

  package var records: [String] { files.filter { $0.hasSuffix(".r1") } }

  /// The sum of the records' sizes.
  package var size: Int {
    records.map { (try? FileManager.default.attributesOfItem(atPath: path($0))[.size] as? Int) ?? 0 }.reduce(0, +)
  }

  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
