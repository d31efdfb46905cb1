/// A step of the path to a field of a response.
package enum RecordStep: Hashable, Sendable, CustomStringConvertible {
  case key(String)
  case index(Int)

  package var description: String {
    switch self {
    case .key(let key): key
    case .index(let index): String(index)
    }
  }
}

/// The path of an error in a response.
package struct RecordErrorPath: Hashable, Sendable {
  package var steps: [RecordStep]
  /// Whether steps are missing at the end, since only so many are kept. The error may be anywhere below.
  package var isCut: Bool

  package init(_ steps: [RecordStep], isCut: Bool = false) {
    self.steps = steps
    self.isCut = isCut
  }
}

/// The errors of a response by their paths, which are followed from the root while the response is read.
struct ErrorTree {
  private struct Node {
    var children: [RecordStep: Int] = [:]
    var isCut = false
  }

  /// The place of a path on which no error is.
  static var nowhere: Int { -1 }
  /// The place of a path below one that was cut.
  private static var belowCut: Int { -2 }

  private var nodes: [Node] = []

  init(_ paths: [RecordErrorPath]) {
    guard !paths.isEmpty else { return }
    nodes = [Node()]
    for path in paths {
      var place = 0
      for step in path.steps {
        if let next = nodes[place].children[step] {
          place = next
        } else {
          nodes[place].children[step] = nodes.count
          place = nodes.count
          nodes.append(Node())
        }
      }
      if path.isCut { nodes[place].isCut = true }
    }
  }

  var root: Int { nodes.isEmpty ? Self.nowhere : 0 }

  /// The place of a step below another place.
  func place(_ step: @autoclosure () -> RecordStep, below place: Int) -> Int {
    guard place >= 0 else { return place }
    if nodes[place].isCut { return Self.belowCut }
    return nodes[place].children[step()] ?? Self.nowhere
  }

  /// Whether a null at a place is there because of an error: one at the place, or one below it that made a field null
  /// which must not be, and so what is around it.
  static func explainsNull(_ place: Int) -> Bool { place != nowhere }
}
