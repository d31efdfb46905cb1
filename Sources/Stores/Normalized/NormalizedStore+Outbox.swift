public import GraphQLClient
import GraphQLLanguage
import HTTPClientCore
public import Streams
public import StrictJSON
import SystemBase

/// A response that an outbox gets for a store: the data, and what the store writes.
public struct NormalizedResponse<ResponseData: Sendable>: Sendable {
  /// The data as the session has them.
  public let data: ResponseData
  let json: PaddedBytes
  let errors: [RecordErrorPath]
}

extension NormalizedResponse: Equatable where ResponseData: Equatable {}

extension GraphQLSession {
  /// A cold stream of the response, with what a normalised store of the schema needs added to the document: for an
  /// ``Outbox`` that ``NormalizedStore/show(_:change:)`` shows. It fails as the session does.
  public func post(on client: APIClient, for schema: RecordSchema) -> Observable<NormalizedResponse<ResponseData>> {
    .deferred {
      let source = SessionSource(session: self)
      let document = GraphQLDocument(rewritten: try source.document(by: schema).source)
      return client.send(UndecodedSession(self, rewritten: document), method: .post).map { response in
        _ = try response.errors(acceptedBy: self.errorPolicy)
        return NormalizedResponse(
          data: try source.data(of: response.data, by: client.decoder), json: response.data,
          errors: response.recordErrors)
      }
    }
  }
}

/// What a mutation that waits in an outbox shows, and how its response is written.
public struct NormalizedChange<Response: Sendable>: Sendable {
  typealias Change = NormalizedRecords.Change

  let show: @Sendable (NormalizedStore, Change) throws -> Void
  let accept: @Sendable (NormalizedStore, Response, Change, _ shown: Change, UInt64, NormalizedStore.ValueSteps) -> Void

  /// The change that a session makes; see ``NormalizedStore``'s `mutate(_:optimisticResponse:updates:)`.
  /// - Parameters:
  ///   - session: The session that the outbox sends for the mutation.
  ///   - optimisticResponse: The `data` to be shown until the response comes, as JSON.
  ///   - updates: Changes what a response cannot know, such as a list. The outbox may send a mutation again whose
  ///     response was written just before the process ended: add what is not there yet.
  ///   - response: The session's response, if the outbox has several kinds; `nil` for that of another.
  public static func of<Session: GraphQLSession>(
    _ session: Session, optimisticResponse: JSONValue? = nil,
    updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)? = nil,
    response: @escaping @Sendable (Response) -> NormalizedResponse<Session.ResponseData>?
  ) -> NormalizedChange {
    NormalizedChange(
      show: { store, change in
        guard let optimisticResponse else { return }
        let key = try NormalizedKey(session, by: store.client.encoder)
        try store.show(optimisticResponse, of: session, key, change, updates)
      },
      accept: { store, answer, change, shown, number, steps in
        guard let answer = response(answer), let key = try? NormalizedKey(session, by: store.client.encoder) else {
          store.end(change, in: steps)
          return store.end(shown, in: steps)
        }
        _ = store.accept(
          answer.json, errors: answer.errors, of: session, key, change, shown: shown, number, updates, in: steps)
      })
  }

  /// The change that a session makes, whose responses are the outbox's.
  public static func of<Session: GraphQLSession>(
    _ session: Session, optimisticResponse: JSONValue? = nil,
    updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)? = nil
  ) -> NormalizedChange where Response == NormalizedResponse<Session.ResponseData> {
    of(session, optimisticResponse: optimisticResponse, updates: updates) { $0 }
  }
}

extension NormalizedStore {
  /// Shows what waits in an outbox on top of what is cached, also what earlier processes have left there, until each entry
  /// is sent, refused or withdrawn. The response is written when it comes, as that of a mutation is; the entry is
  /// removed from the outbox when that is on disk, if this store has a folder; or cannot be written there, which is
  /// reported, and tried again.
  ///
  ///     let outbox = try Outbox<Rename, NormalizedResponse<RenameIssue.ResponseData>>(
  ///       folder: folder, partition: account, isIdempotent: { _ in true }
  ///     ) { rename, key in
  ///       RenameIssue(rename, idempotencyKey: key).post(on: client, for: schema)
  ///     }
  ///     store.show(outbox) { rename in
  ///       .of(RenameIssue(rename), optimisticResponse: ["rename": ["id": .string(rename.id), "title": .string(rename.title)]])
  ///     }
  ///
  /// An entry is sent once the store shows it. What is requested while an entry waits is older than its response. If the
  /// server refuses the account (401), the entry waits, and what is cached is hidden. The store keeps the outbox alive, and
  /// not the other way round. See ``Store/show(_:change:)``.
  /// - Parameters:
  ///   - outbox: The outbox, which sends with `post(on:for:)`.
  ///   - change: The change that a mutation makes. Called on any thread, without a lock held, and again when the
  ///     response has come. What it cannot show is not shown.
  /// - Returns: Stops showing the changes when disposed. Releasing it does not.
  @discardableResult
  public func show<Mutation, Response>(
    _ outbox: Outbox<Mutation, Response>, change: @escaping @Sendable (Mutation) -> NormalizedChange<Response>
  ) -> any Disposable {
    let shown = OutboxLayers<Waiting>(of: outbox)
    let watching = outbox.showing(
      { [weak self] event, done in
        guard let self else {
          done()
          return {}
        }
        let steps = ValueSteps()
        switch event {
        case .added(let entry):
          let waiting = Waiting(
            change: records.withLock { $0.begin(waits: true) }, number: store.perform { $0.nextNumber() })
          // Added before it is shown, so that who disposes meanwhile ends it: then nothing is shown.
          if let unused = shown.add(entry.id, waiting) { end(unused.change, in: steps) }
          try? change(entry.mutation).show(self, waiting.change)
          done()
        case .sent(let entry, let response):
          guard let waiting = shown.take(entry.id) else {
            done()
            break
          }
          let arrived = records.withLock { $0.begin() }
          let number = max(waiting.number, shown.refusal ?? 0)
          change(entry.mutation).accept(self, response, arrived, waiting.change, number, steps)
          whenWritten(done)
        case .refused(let entry, let error):
          if let waiting = shown.take(entry.id) { refuse(error, waiting.change, in: steps) }
          whenWritten(done)
        case .withdrawn(let entry):
          if let waiting = shown.take(entry.id) {
            // If another process has sent it, the response takes the place of what was shown.
            journal?.receive(reportingErrorsTo: configuration.onStorageError) { show($0, in: steps) }
            end(waiting.change, in: steps)
          }
          done()
        }
        // Watchers, which may stall, are called once the outbox has got rid of the change.
        return { [self] in
          store.end(steps)
          collectIfNeeded()
        }
      },
      onRefusal: { [weak self] error in
        let steps = ValueSteps()
        self?.refuse(error, nil, in: steps)
        if let number = self?.store.perform({ $0.nextNumber() }) { shown.note(refusal: number) }
        return { [weak self] in self?.store.end(steps) }
      },
      onCompleted: { [weak self] in
        let (steps, ended) = (ValueSteps(), shown.end())
        self?.end(ended, in: steps)
        return { [weak self] in self?.store.end(steps) }
      })
    watching.disposed(by: store.showings)
    return Disposables.create { [weak self] in
      let (steps, ended) = (ValueSteps(), shown.end())
      self?.end(ended, in: steps)
      self?.store.end(steps)
      watching.dispose()
    }
  }

  /// A mutation that waits: what it shows, and its place in the order of refusals.
  private struct Waiting: Sendable {
    let change: NormalizedRecords.Change
    let number: UInt64
  }

  /// Stops showing all that waits, in one step: those above would be made again for each.
  private func end(_ shown: [Waiting], in steps: ValueSteps) {
    commit(in: steps, .withdrawn) { records, changes in
      for waiting in shown { changes += records.end(waiting.change) }
    }
  }

  /// Stops showing a change that the server has refused, and hides what that means.
  private func refuse(_ error: any Error, _ change: NormalizedRecords.Change?, in steps: ValueSteps) {
    let change = change ?? records.withLock { $0.begin(waits: true) }
    end(change, in: steps)
    let isEmptied = removeRefused(nil, error, by: change, in: steps)
    store.apply(error, of: nil, in: steps) { _ in }
    if isEmptied { showWaiting(in: steps) }
  }
}
