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
      // A part of a timeline is no timeline.
      guard arguments.policy == .networkFirst,
        let kept = try? await answer(timeline(.cacheOnly, from: service), from: service), !kept.isPartial
      else { throw error }
      snapshot = kept
    }
    let details = try snapshot.requireValue()
    if let error {
      say("\(ErrorLine(error)) This is the timeline as it was kept \(Age.words(snapshot.age)).")
    } else if arguments.isVerbose {
      say("timeline: \(Self.origin(of: snapshot))")
    }
    try show(details) { $0.timeline(details) }
    // Without a network, what is kept is what was asked for.
    if let error, ExitCode(error) != .unreachable { throw ToldError(cause: error) }
  }

  private func timeline(_ policy: FetchPolicy, from service: Service) -> Observable<Snapshot<MomentsDetails>> {
    service.repo.getMoments(userID: arguments.userID, policy: policy)
  }

  /// Where a timeline comes from, and how old it is.
  private static func origin(of snapshot: Snapshot<MomentsDetails>) -> String {
    let age = Age.words(snapshot.age)
    return switch snapshot.source {
    case .network: "from the server, \(age)"
    case .optimistic: "\(age), and over it what is queued"
    case .memory, .disk, nil: "from the cache, \(age)"
    }
  }

  func updateLike(_ isLiked: Bool, _ momentID: String) async throws {
    let service = try service()
    let words = MomentLike(isLiked: isLiked, momentID: momentID, userID: arguments.userID).words
    do {
      let update = service.repo.updateLike(isLiked: isLiked, momentID: momentID, fromUserID: arguments.userID)
      let details = try await answer(update, from: service)
      guard let moment = details.moments.first(where: { $0.id == momentID }) else {
        throw RequestError(.undecodable, "The answer does not hold the moment '\(momentID)'.")
      }
      try show(details) { $0.moment(moment) }
    } catch OutboxError.queued(let error) {
      say("\(ErrorLine(error)) '\(words)' is queued, and will be sent when there is a server.")
    } catch let error as CancellationError where service.outbox != nil {
      say("'\(words)' is queued, since it may have been sent.")
      throw error
    } catch OutboxError.sentElsewhere {
      say("moments: '\(words)' was sent by another run of the command.")
    } catch let error as OutboxError {
      guard case .withdrawn = error else { throw error }
      say("moments: '\(words)' was dropped by another run of the command, and not sent.")
      throw ToldError(cause: error)
    }
  }
}
