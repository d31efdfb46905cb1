import Models
import Networking
import Streams
import TestSupport

extension MomentsDetails {
  /// A timeline that is told apart from others by its owner and its revision.
  static func fixture(_ userID: String = "0", revision: Int = 0) -> MomentsDetails {
    MomentsDetails(
      userDetails: UserDetails(id: userID, name: "Wei \(revision)", avatar: "", backgroundImage: ""), moments: [])
  }
}

/// Sessions that answer by closures: another transport, to which the repository is not privy.
struct FixtureSessions: GetMomentsByUserIDSessionType, UpdateMomentLikeSessionType {
  var get: @Sendable (String) -> Observable<MomentsDetails> = { .just(.fixture($0)) }
  var update: @Sendable (Bool, String, String) -> Observable<MomentsDetails> = { _, _, _ in .just(.fixture()) }

  func getMoments(userID: String) -> Observable<MomentsDetails> { get(userID) }

  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    update(isLiked, momentID, fromUserID)
  }
}

struct Failure: Error, Equatable {
  var name = "failed"
}

/// Keeps what a stream sends, in one line for each event.
final class Recorder: Sendable {
  private let lines = Monitor<[String]>([])
  private let bag = DisposeBag()

  init(_ stream: Observable<MomentsDetails>) {
    let lines = lines
    stream.subscribe(
      onNext: { details in
        lines.update { $0.append("\(details.userDetails.id) \(details.userDetails.name)") }
      },
      onError: { error in lines.update { $0.append("error \(error)") } },
      onCompleted: { lines.update { $0.append("completed") } }
    ).disposed(by: bag)
  }

  var events: [String] { lines.value }

  func dispose() {
    bag.dispose()
  }
}
