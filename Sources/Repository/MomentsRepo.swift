public import Models
public import Networking
public import Streams

/// The timelines of users, from any sessions and in any store that keep the protocols.
public struct MomentsRepo: MomentsRepoType {
  private let dataStore: any DataStoreType<String, MomentsDetails>
  private let getMomentsByUserIDSession: any GetMomentsByUserIDSessionType
  private let updateMomentLikeSession: any UpdateMomentLikeSessionType

  /// Makes a repository; timelines are kept under their owner's id.
  public init(
    dataStore: some DataStoreType<String, MomentsDetails> = InMemoryDataStore(),
    getMomentsByUserIDSession: some GetMomentsByUserIDSessionType,
    updateMomentLikeSession: some UpdateMomentLikeSessionType
  ) {
    self.dataStore = dataStore
    self.getMomentsByUserIDSession = getMomentsByUserIDSession
    self.updateMomentLikeSession = updateMomentLikeSession
  }

  /// The live stream of a user's timeline; a failure of the store's ends nobody's watch: it is silence.
  public func momentsDetails(userID: String) -> Observable<MomentsDetails> {
    dataStore.values(for: userID).catch { _ in .never() }
  }

  /// Fetches, keeps, tells and gives a user's timeline.
  public func getMoments(userID: String) -> Observable<MomentsDetails> {
    saving(getMomentsByUserIDSession.getMoments(userID: userID))
  }

  /// Sets a like; keeps, tells and gives the timeline of the moment's owner.
  public func updateLike(isLiked: Bool, momentID: String, fromUserID: String) -> Observable<MomentsDetails> {
    saving(updateMomentLikeSession.updateLike(isLiked, momentID: momentID, fromUserID: fromUserID))
  }

  private func saving(_ answers: Observable<MomentsDetails>) -> Observable<MomentsDetails> {
    answers.do(onNext: { [dataStore] in try dataStore.save($0, for: $0.userDetails.id) })
  }
}
