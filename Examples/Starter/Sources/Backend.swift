import GraphQLSchema
import GraphQLTesting
import StrictJSON
import Synchronization
import SystemBase

/// A server in this process, made of the schema: the program runs without another one, and tests run on it. What no closure
/// here resolves is made up. It forgets everything when the program ends, and is only where the program was built.
func embeddedBackend() throws -> TestServer {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "schema.graphql")
  guard let schema = try? String(contentsOf: file, encoding: .utf8) else {
    throw SettingsError("ENDPOINT is not set, and the embedded backend is only where the program was built.")
  }
  let server = TestServer(schema: try Schema(parsing: schema))
  let depot = Depot()
  try server.resolve("Query.parcels") { _ in .array(depot.parcels.map(\.json)) }
  try server.resolve("Mutation.deliver") { request in
    guard let id = request.arguments["parcel"]?.stringValue, let parcel = depot.move(id, to: "DELIVERED") else {
      throw FieldError("There is no such parcel.")
    }
    return parcel.json
  }
  // All events of a subscription, which ends after them.
  try server.resolve("Subscription.parcelChanged") { _ in
    .array(["LOADED", "DELIVERED"].compactMap { state in depot.move("P-1", to: state)?.json })
  }
  return server
}

/// What the embedded backend knows.
private final class Depot: Sendable {
  struct Parcel {
    let id, recipient: String
    var state: String

    var json: JSONValue { ["id": .string(id), "recipient": .string(recipient), "state": .string(state)] }
  }

  private let stored = Mutex([
    Parcel(id: "P-1", recipient: "Wei", state: "WAITING"), Parcel(id: "P-2", recipient: "Ada", state: "LOADED"),
    Parcel(id: "P-3", recipient: "Noor", state: "WAITING"),
  ])

  var parcels: [Parcel] { stored.withLock { $0 } }

  func move(_ id: String, to state: String) -> Parcel? {
    stored.withLock { parcels in
      guard let index = parcels.firstIndex(where: { $0.id == id }) else { return nil }
      parcels[index].state = state
      return parcels[index]
    }
  }
}
