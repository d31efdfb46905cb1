import HTTP
import Models
import Repository
import Streams

extension MomentsCommand {
  func showTimeline() async throws {
    let service = try service()
    var snapshot = try await answer(timeline(arguments.policy, from: service), from: service)
    let error = snapshot.errors.first
    if snapshot.isPartial, let error {
      // A partial timeline counts as a failure.
      guard arguments.policy == .networkFirst,
        let kept = try? await answer(timeline(.cacheOnly, from: service), from: service), !kept.isPartial
      else { throw error }
      snapshot = kept
    }
    let details = try snapshot.requireValue()
    if let error {
      say("\(ErrorLine(error)) This is the timeline as it was kept \(Age.words(snapshot.age)).")
    } else if arguments.isVerbose {
      say("timeline: \(origin(of: snapshot))")
    }
    try show(details) { $0.timeline(details) }
    // Without a network, showing the cached timeline is a success.
    if let error, ExitCode(error) != .unreachable { throw ToldError(cause: error) }
  }

  private func timeline(_ policy: FetchPolicy, from service: Service) -> Observable<Snapshot<MomentsDetails>> {
    service.repo.getMoments(userID: arguments.userID, policy: policy)
  }

  /// Where a timeline came from, and how old it is.
  private func origin(of snapshot: Snapshot<MomentsDetails>) -> String {
    let age = Age.words(snapshot.age)
    return switch snapshot.source {
    case .network: "from the \(arguments.endpoint == nil ? "sample data" : "server"), \(age)"
    case .optimistic: "\(age), with queued likes"
    case .memory, .disk, nil: "from the cache, \(age)"
    }
  }

  func updateLike(_ isLiked: Bool, _ momentID: String) async throws {
    let service = try service()
    let (like, start) = (MomentLike(isLiked: isLiked, momentID: momentID, userID: arguments.userID), StoreTime.now())
    let words = like.words
    let queued = { try service.outbox?.entries().last { $0.mutation == like && $0.addedAt >= start } }
    do {
      let update = service.repo.updateLike(isLiked: isLiked, momentID: momentID, fromUserID: arguments.userID)
      let details = try await answer(update, from: service)
      guard let moment = details.moments.first(where: { $0.id == momentID }) else {
        throw RequestError(.undecodable, "The response does not contain the moment '\(momentID)'.")
      }
      try show(details) { $0.moment(moment) }
    } catch OutboxError.queued(let error) {
      say("\(ErrorLine(error)) '\(words)' is queued, and will be sent by the next run \(account).")
      try showJSON("queued", queued())
      // If the server was not reached, a queued like is a success; if it was queued for another reason, the user has to
      // fix something first.
      if [.notAllowed, .usage].contains(ExitCode(error)) { throw ToldError(cause: error) }
    } catch let error as CancellationError {
      if (try? queued()) != nil { say("'\(words)' is queued, since it may have been sent.") }
      throw error
    } catch OutboxError.sentElsewhere {
      say("moments: '\(words)' was sent by another run of the command.")
      try showJSON("sent", like)
    } catch let error as OutboxError {
      guard case .discarded = error else { throw error }
      say("moments: '\(words)' was discarded by another run of the command, and not sent.")
      throw ToldError(cause: error)
    }
  }

  /// Describes the account that a like is queued for.
  private var account: String {
    "with --user \(arguments.userID)\(arguments.endpoint == nil ? "" : " at this endpoint")"
  }
}
