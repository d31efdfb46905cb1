package import Foundation
package import GraphQLClient
import HTTPClientCore
package import Stores
import Streams
import Synchronization

/// One step of a fixed sequence of responses and invalidations, so that a test knows what must be in a normalised store
/// after each.
package struct RecordOperation: Sendable {
  /// The items that the operations go round.
  package static let ids = (0..<5).map { "\($0)" }

  private let number: Int

  /// The operation of this number, from 0 on.
  package init(_ number: Int) { self.number = number }

  /// The item that it concerns.
  package var id: String { Self.ids[number % Self.ids.count] }

  /// What the item says after it; `nil` where it makes that missing.
  package var text: String? {
    number % 7 == 3 ? nil : "\(number) " + String(repeating: "x", count: number * 7_919 % 20_000)
  }

  /// Returns when it is on disk.
  fileprivate func perform(on store: NormalizedStore, _ server: ItemServer) async throws {
    guard let text else { return store.invalidate(EntityID("Item", id: id)) }
    server.text.withLock { $0 = text }
    _ = try await store.fresh(GetItem(id)).value
  }
}

/// Reads an item.
package struct GetItem: GraphQLSession {
  package struct Variables: Encodable, Hashable, Sendable { let id: String }
  package struct ResponseData: Codable, Hashable, Sendable {
    package struct Item: Codable, Hashable, Sendable { package var text: String }
    package var item: Item
  }
  package static let query: GraphQLDocument = "query item($id: ID!) { item(id: $id) { id text } }"
  package let variables: Variables

  package init(_ id: String) { variables = Variables(id: id) }
}

/// Says what it is told to of any item.
private final class ItemServer: HTTPTransport {
  let text = Mutex("")

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    let body = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
    let id = RecordOperation.ids.first { body.contains("{\"id\":\"\($0)\"}") } ?? ""
    let item = #"{"data": {"item": {"__typename": "Item", "id": "\#(id)", "text": "\#(text.withLock { $0 })"}}}"#
    let response = HTTPResponse(
      status: 200, headers: ["Content-Type": "application/json"], body: Data(item.utf8))
    return .create { observer in
      for part in response.parts { observer.onNext(part) }
      observer.onCompleted()
      return Disposables.create()
    }
  }
}

/// The store that the operations are performed on.
package func openRecords(in folder: URL) throws -> NormalizedStore { try open(folder, ItemServer()) }

private func open(_ folder: URL, _ server: ItemServer) throws -> NormalizedStore {
  let url = URL(string: "http://127.0.0.1/graphql") ?? folder
  let client = try APIClient(baseURL: url, transport: server)
  return try NormalizedStore(client, folder: folder)
}

/// Performs one operation after the other until it is killed, and writes the number of each that is done.
func performRecordOperations(in folder: String, from first: Int) async throws -> Never {
  let server = ItemServer()
  let store = try open(URL(fileURLWithPath: folder), server)
  var number = first
  while true {
    try await RecordOperation(number).perform(on: store, server)
    FileHandle.standardOutput.write(Data("\(number)\n".utf8))
    number += 1
  }
}
