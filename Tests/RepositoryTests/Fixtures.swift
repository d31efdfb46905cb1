import Models
import Networking
import StoresTestSupport
import Streams

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

extension Recorder<MomentsDetails> {
  /// What came, in one line for each event.
  var events: [String] {
    elements.value.map { "\($0.userDetails.id) \($0.userDetails.name)" }
      + (error.value.map { ["error \($0)"] } ?? []) + (isCompleted.value ? ["completed"] : [])
  }
}
