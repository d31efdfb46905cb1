import Stores
import StoresTestSupport
import Streams

struct Row: Identifiable, Hashable, Sendable, CustomStringConvertible {
  let id: Int
  var text = ""

  var description: String { "\(id)\(text)" }
}

typealias Rows = Page<Row, Int>

extension PagerState<Row> {
  /// The rows and the phase, in one line.
  var brief: String {
    let name = if case .failed(let error) = phase { "failed(\(error))" } else { "\(phase)" }
    return "\(items.map(\.description).joined(separator: ",")) \(name)"
  }
}

/// A pager of numbered pages whose requests the test answers.
struct PagerWorld {
  let server = FakeServer<Int, Rows>()
  let pager: Pager<Row, Int>
  let states: Recorder<PagerState<Row>>

  init() {
    let server = server
    pager = Pager(firstPage: 1) { server.fetch($0).map(\.value) }
    states = Recorder(pager.states)
    _ = states.take()
  }

  var events: [String] { states.take().map(\.brief) }

  func answer(_ request: Int, _ ids: [Int], text: String = "", isLast: Bool = false) {
    let number = server[request].key
    server[request].answer(Rows(ids.map { Row(id: $0, text: text) }, number: number, isLast: isLast))
  }
}
