import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import TestSupport

/// The forms in which servers send responses in parts.
enum IncrementalForm: String, CaseIterable, Sendable {
  /// The draft specification's, with ids.
  case ids
  /// That of 2022, with paths.
  case paths
  /// That of 2020, with one part in a payload.
  case flat
  /// Strawberry's: ids, and paths and labels as well.
  case mixed
}

/// A response in parts: a first tree, and what is delivered later.
struct IncrementalScript {
  struct Delivery {
    let id: Int
    let path: [JSONValue]
    var label: String?
    var data: JSONValue?
    var items: [JSONValue] = []
    /// The place of the first item.
    var start = 0
    /// Whether nothing more comes for the id.
    var isLast = true
    /// What can be delivered once this has been.
    var next: [Delivery] = []
  }

  var initial: JSONValue = .null
  /// The same response without the directives.
  var whole: JSONValue = .null
  var deliveries: [Delivery] = []
}

/// Makes up responses, and sends their parts in random order and groups.
struct RandomIncrementalResponse {
  private var random: SplitMix
  private var ids = 0

  init(seed: UInt64) {
    random = SplitMix(seed: seed)
  }

  mutating func script() -> IncrementalScript { object(depth: 4, at: []) }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private mutating func value(depth: Int, at path: [JSONValue]) -> IncrementalScript {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &random) {
    case 0: return leaf(.null)
    case 1: return leaf(.integer(Int64.random(in: -5...5, using: &random)))
    case 2: return leaf(.string("a\r\n--graphql--\r\n\"ü"))
    case 3: return list(depth: depth - 1, at: path)
    default: return object(depth: depth - 1, at: path)
    }
  }

  private func leaf(_ value: JSONValue) -> IncrementalScript { IncrementalScript(initial: value, whole: value) }

  private mutating func object(depth: Int, at path: [JSONValue]) -> IncrementalScript {
    var script = members(["a", "b", "c"].prefix(Int.random(in: 1...3, using: &random)), depth: depth, at: path)
    while chance(40) {
      // Of an object that is itself deferred, a fragment within the fragment.
      ids += 1
      let id = ids
      let fragment = members(["x\(id)", "y\(id)"], depth: depth, at: path)
      script.deliveries.append(
        .init(id: id, path: path, label: "l\(id)", data: fragment.initial, next: fragment.deliveries))
      script.whole = script.whole.merging(fragment.whole)
    }
    return script
  }

  private mutating func members(
    _ keys: some Sequence<String>, depth: Int, at path: [JSONValue]
  ) -> IncrementalScript {
    var (initial, whole): ([String: JSONValue], [String: JSONValue]) = ([:], [:])
    var script = IncrementalScript()
    for key in keys {
      let member = value(depth: depth, at: path + [.string(key)])
      (initial[key], whole[key]) = (member.initial, member.whole)
      script.deliveries += member.deliveries
    }
    (script.initial, script.whole) = (.object(initial), .object(whole))
    return script
  }

  private mutating func list(depth: Int, at path: [JSONValue]) -> IncrementalScript {
    let elements = (0..<Int.random(in: 0...5, using: &random)).map {
      value(depth: depth, at: path + [.integer(Int64($0))])
    }
    var script = IncrementalScript()
    script.whole = .array(elements.map(\.whole))
    let count = chance(60) ? Int.random(in: 0...elements.count, using: &random) : elements.count
    script.initial = .array(elements.prefix(count).map(\.initial))
    script.deliveries = elements.prefix(count).flatMap(\.deliveries)
    guard count < elements.count else { return script }
    ids += 1
    let id = ids
    var rest: [IncrementalScript.Delivery] = []
    var end = elements.count
    while end > count {
      let start = Int.random(in: count..<end, using: &random)
      let chunk = elements[start..<end]
      rest = [
        .init(
          id: id, path: path, items: chunk.map(\.initial), start: start, isLast: end == elements.count,
          next: chunk.flatMap(\.deliveries) + rest)
      ]
      end = start
    }
    script.deliveries += rest
    return script
  }

  /// The payloads of a script, in any order that keeps a part behind what it is in.
  mutating func payloads(of script: IncrementalScript, in form: IncrementalForm) -> [JSONValue] {
    var waiting = script.deliveries
    var announced: Set<Int> = []
    var payloads: [[String: JSONValue]] = [["data": script.initial]]
    var isFirst = true
    func announce(_ deliveries: [IncrementalScript.Delivery]) -> JSONValue? {
      let new = deliveries.filter { announced.insert($0.id).inserted }
      guard !new.isEmpty, form == .ids || form == .mixed else { return nil }
      return .array(
        new.map { delivery in
          var pending: [String: JSONValue] = ["id": .string("\(delivery.id)"), "path": .array(delivery.path)]
          pending["label"] = delivery.label.map { .string($0) }
          return .object(pending)
        })
    }
    payloads[0]["pending"] = announce(waiting)
    while !waiting.isEmpty {
      var group: [IncrementalScript.Delivery] = []
      var new: [IncrementalScript.Delivery] = []
      repeat {
        let delivery = waiting.remove(at: Int.random(in: waiting.indices, using: &random))
        group.append(delivery)
        waiting += delivery.next
        new += delivery.next
      } while form != .flat && !waiting.isEmpty && chance(50)
      if form == .flat {
        payloads += group.flatMap(Self.flat)
        continue
      }
      // A draft server may put parts into its first payload.
      if !isFirst || form == .paths || chance(80) { payloads.append([:]) }
      isFirst = false
      let last = payloads.count - 1
      let pending = (payloads[last]["pending"]?.arrayValue ?? []) + (announce(new)?.arrayValue ?? [])
      if !pending.isEmpty { payloads[last]["pending"] = .array(pending) }
      payloads[last]["incremental"] = .array(group.map { Self.part($0, in: form) })
      if form != .paths {
        let completed = group.filter(\.isLast).map { JSONValue.object(["id": .string("\($0.id)")]) }
        payloads[last]["completed"] = .array(completed)
      }
    }
    // An end of its own, or with the last part.
    if chance(30) { payloads.append([:]) }
    return payloads.enumerated().map { index, payload in
      .object(payload.merging(["hasNext": .bool(index < payloads.count - 1)]) { $1 })
    }
  }

  private static func part(_ delivery: IncrementalScript.Delivery, in form: IncrementalForm) -> JSONValue {
    var part: [String: JSONValue] = [:]
    if form != .paths { part["id"] = .string("\(delivery.id)") }
    if form != .ids {
      let isList = delivery.data == nil
      part["path"] = .array(delivery.path + (isList ? [.integer(Int64(delivery.start))] : []))
      part["label"] = delivery.label.map { .string($0) }
    }
    if let data = delivery.data { part["data"] = data } else { part["items"] = .array(delivery.items) }
    return .object(part)
  }

  private static func flat(_ delivery: IncrementalScript.Delivery) -> [[String: JSONValue]] {
    guard let data = delivery.data else {
      return delivery.items.enumerated().map { offset, item in
        ["path": .array(delivery.path + [.integer(Int64(delivery.start + offset))]), "data": item]
      }
    }
    return [["path": .array(delivery.path), "label": .string(delivery.label ?? ""), "data": data]]
  }

  /// The parts of a response with payloads, split anywhere.
  mutating func parts(of payloads: [JSONValue]) throws -> [HTTPResponsePart] {
    var rest = try IncrementalServer.body(payloads)
    var parts: [HTTPResponsePart] = [.head(IncrementalServer.head)]
    while !rest.isEmpty {
      let count = min(rest.count, Int.random(in: 1...60, using: &random))
      parts.append(.body(Data(rest.prefix(count))))
      rest = Data(rest.dropFirst(count))
    }
    return parts
  }
}

extension JSONValue {
  fileprivate func merging(_ other: JSONValue) -> JSONValue {
    guard case .object(let members) = self, case .object(let others) = other else { return other }
    return .object(members.merging(others) { $1 })
  }
}

/// A transport that responds to each request with given parts.
struct IncrementalServer: HTTPTransport {
  static let head = HTTPResponseHead(
    status: 200, headers: ["Content-Type": "multipart/mixed; boundary=\"graphql\"; deferSpec=20220824"])

  let parts: [HTTPResponsePart]
  var error: RequestError?

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    let response = Observable.from(parts)
    guard let error else { return response }
    return response.concat(.error(error))
  }

  /// A multipart body with payloads; without its end, if it is cut.
  static func body(_ payloads: [JSONValue], isCut: Bool = false) throws -> Data {
    var body = Data()
    for payload in payloads {
      body += Data("\r\n--graphql\r\nContent-Type: application/json; charset=utf-8\r\n\r\n".utf8)
      body += try payload.json()
    }
    if !isCut { body += Data("\r\n--graphql--\r\n".utf8) }
    return body
  }

  /// A client of a server that sends these payloads, each as a piece of its own.
  static func client(
    sending payloads: [String], isCut: Bool = false, error: RequestError? = nil
  ) throws -> APIClient {
    var parts: [HTTPResponsePart] = [.head(head)]
    for payload in payloads { parts.append(.body(try body([JSONValue(json: payload)], isCut: true))) }
    if !isCut { parts.append(.body(Data("\r\n--graphql--\r\n".utf8))) }
    return try client(IncrementalServer(parts: parts, error: error))
  }

  static func client(_ server: IncrementalServer) throws -> APIClient {
    try APIClient(baseURL: url("http://127.0.0.1/graphql"), transport: server)
  }
}
