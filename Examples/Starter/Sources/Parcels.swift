import GraphQLClient
import Stores
import Streams
import StrictJSON
import SystemBase

/// The parcels as the program shows them. Each is kept once, so that what changes it shows wherever it is listed.
final class Parcels: Sendable {
  private let store: NormalizedStore
  private let outbox: Outbox<Delivery, NormalizedResponse<DeliverSession.ResponseData>>

  /// Opens the mutations that wait in a folder, which is created if it does not exist.
  init(_ client: APIClient, folder: URL, account: String) throws {
    store = NormalizedStore(client, schema: .backend)
    // To deliver twice does no harm, so one whose fate is unknown may be sent again.
    outbox = try Outbox(folder: folder, partition: account, isIdempotent: { _ in true }) { delivery, _ in
      delivery.session.post(on: client, for: .backend)
    }
    store.show(outbox) { delivery in
      .of(delivery.session, optimisticResponse: ["deliver": ["id": .string(delivery.parcel), "state": "DELIVERED"]])
    }
  }

  /// The list, live: each change that is made here, also one that waits, and each that the server reports, until it ends
  /// that. Fails if there is no list to begin with, or no connection for long.
  var live: Observable<[Parcel]> {
    let list = ParcelsSession.Session()
    let changes = store.follow(ParcelChangedSession.Session(), invalidating: [list])
    let end = changes.filter { _ in false }.map { _ in }.concat(.just(()))
    // What the list is in the end stands behind it, since a change may come with the end.
    return store.stream(list, .cacheAndNetwork).take(until: end).concat(store.get(list))
      .filter { !$0.isFetching || $0.value != nil }
      .map { try $0.requireValue().parcels }
      .distinctUntilChanged()
  }

  /// The list as the server has it, after what waits has been sent.
  func fetch() async throws -> [Parcel] {
    await outbox.flush(evenDuringPause: true)
    return try await store.get(ParcelsSession.Session(), .networkFirst).value.requireValue().parcels
  }

  /// Marks a parcel as delivered. The list shows it at once; whether the server has it by now is the result. If it waits
  /// because the server has refused the token, that is an error.
  func deliver(_ parcel: String) async throws -> Bool {
    do {
      _ = try await outbox.submit(Delivery(parcel: parcel)).value
      return true
    } catch OutboxError.queued(let error) where !error.isUnauthenticated {
      return false
    }
  }

  /// Ends the list. What waits for the network stays in the folder.
  func close() async {
    await outbox.close()
    await store.close()
  }
}

/// A mutation that waits.
private struct Delivery: Codable, Sendable {
  let parcel: String
  var session: DeliverSession.Session { .init(parcel: parcel) }
}
