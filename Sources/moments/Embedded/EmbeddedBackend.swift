import HTTP
import Models
import Networking
import Streams
import Synchronization

/// Answers sessions from data in this process, without a server or a network.
///
/// Likes last as long as the backend.
final class EmbeddedBackend: GetMomentsByUserIDSessionType, UpdateMomentLikeSessionType {
  private let state: Mutex<EmbeddedState>
  private let withLikes: @Sendable () -> Bool

  /// Takes the initial data. The toggle is read for each request, and says whether the response has likes.
  init(_ state: EmbeddedState, withLikes: @escaping @Sendable () -> Bool = { true }) {
    self.state = Mutex(state)
    self.withLikes = withLikes
  }

  func getMoments(userID: String) -> Observable<MomentsDetails> {
    Observable.deferred { [self] in
      let details = try state.withLock { try $0.details(userID: userID, withLikes: withLikes()) }
      return .just(details)
    }
  }

  func updateLike(_ isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    Observable.deferred { [self] in
      let details = try state.withLock { state in
        let ownerID = try state.setLike(isLiked, momentID: momentID, userID: fromUserID)
        return try state.details(userID: ownerID, withLikes: withLikes())
      }
      return .just(details)
    }
  }
}
