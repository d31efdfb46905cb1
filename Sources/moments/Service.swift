import CommandLineBase
import HTTPClientCore
import Models
import Networking
import Repository
import SocketHTTP
import Streams
import SystemBase

/// What a run uses: a server or the embedded backend, and the account's data on disk.
struct Service {
  let repo: MomentsRepo
  private let transport: (any HTTPTransport)?

  /// Set if the command line names a folder, unless the command needs existing data and the account has none.
  let cache: DiskCache<MomentsKey, MomentsDetails>?
  let outbox: Outbox<MomentLike, MomentsDetails>?

  /// Opens what the arguments name. Later storage errors are only reported through `say`.
  init(_ arguments: Arguments, now: Int64, say: @escaping @Sendable (String) -> Void) throws {
    // The account is the user at the endpoint, and not the token, which changes. The space cannot occur in a URL.
    let account = "\(arguments.endpoint?.url.absoluteString ?? "embedded") \(arguments.userID)"
    let withLikes: @Sendable () -> Bool = { [showsLikes = arguments.showsLikes] in showsLikes }
    let get: any GetMomentsByUserIDSessionType
    let update: any UpdateMomentLikeSessionType
    let post: any PostPhotoSessionType
    let liked: any MomentLikedSessionType
    if let endpoint = arguments.endpoint {
      let client = try arguments.client(for: endpoint)
      transport = client.transport
      get = GetMomentsByUserIDSession(client: client, withLikes: withLikes)
      update = UpdateMomentLikeSession(client: client, withLikes: withLikes)
      post = PostPhotoSession(client: client, withLikes: withLikes)
      liked = MomentLikedSession(client: client, withLikes: withLikes)
    } else {
      transport = nil
      let backend = EmbeddedBackend(.sample(now: now), withLikes: withLikes)
      (get, update, post, liked) = (backend, backend, backend, backend)
    }
    let plainRepo = {
      MomentsRepo(
        getMomentsByUserIDSession: get, updateMomentLikeSession: update, postPhotoSession: post,
        momentLikedSession: liked, withLikes: withLikes)
    }
    guard let folder = arguments.cacheFolder else {
      (cache, outbox) = (nil, nil)
      repo = plainRepo()
      return
    }
    let (timelines, likes) = (folder.appendingPathComponent("timelines"), folder.appendingPathComponent("outbox"))
    if arguments.action.needsCache {
      guard FileManager.default.fileExists(atPath: timelines.path) else {
        throw UsageError("there is no cache in '\(folder.path)'; name the folder that the other runs use")
      }
      // The account has no data, and no folder should be created for it.
      guard DiskCache<MomentsKey, MomentsDetails>.exists(in: timelines, partition: account) else {
        (cache, outbox) = (nil, nil)
        repo = plainRepo()
        return
      }
    }
    let cache: DiskCache<MomentsKey, MomentsDetails>
    let outbox: Outbox<MomentLike, MomentsDetails>
    do {
      // Wait for the lock of the folder no longer than for the server.
      cache = try DiskCache(
        folder: timelines, partition: account, coder: .json,
        lockTimeout: min(arguments.timeout ?? .seconds(10), .seconds(10)))
      outbox = try Outbox(
        folder: likes, partition: account, lockTimeout: arguments.timeout ?? .seconds(60), session: update)
    } catch let error as FileError {
      throw CacheFolderError(path: folder.path, cause: error)
    }
    var configuration = StoreConfiguration<MomentsDetails>()
    configuration.writing = .behind
    // The cached timeline, with its age, is the user's own; the exit code says why it is not a new one.
    configuration.mayServeStale = { _ in true }
    configuration.freshness.staleIfError = nil
    configuration.onStorageError = { say("\(ErrorLine($0))") }
    repo = MomentsRepo(
      storage: .source(cache), configuration: configuration,
      getMomentsByUserIDSession: FlushingSession(base: get, outbox: outbox), updateMomentLikeSession: update,
      postPhotoSession: post, momentLikedSession: liked, outbox: outbox, withLikes: withLikes)
    (self.cache, self.outbox) = (cache, outbox)
  }

  /// Tells the server that its subscriptions are over, and closes all connections, within a second.
  func endConnections() async {
    await (transport as? SocketTransport)?.shutdown(within: .seconds(1))
  }
}

/// Sends what is queued before a timeline is requested, so that the response includes it; does not wait if another run
/// is sending.
private struct FlushingSession: GetMomentsByUserIDSessionType {
  let base: any GetMomentsByUserIDSessionType
  let outbox: Outbox<MomentLike, MomentsDetails>

  func getMoments(userID: String) -> Observable<MomentsDetails> {
    flushed { base.getMoments(userID: userID) }
  }

  func getMomentsResponse(userID: String) -> Observable<GraphQLResponse<MomentsDetails>> {
    flushed { base.getMomentsResponse(userID: userID) }
  }

  private func flushed<Answer>(_ answer: @escaping @Sendable () -> Observable<Answer>) -> Observable<Answer> {
    Observable<OutboxReport>.async { await outbox.flush(lockTimeout: .zero) }.flatMap { report in
      // If the server cannot be reached, or does not respond in time, a second attempt would be pointless.
      if let error = report.error as? RequestError, endsTheRun(error) { throw error }
      return answer()
    }
  }

  private func endsTheRun(_ error: RequestError) -> Bool {
    switch (error.kind, error.cause) {
    case (.timedOut, OutboxError.busy?): false
    case (.cannotConnect, _), (.timedOut, _): true
    default: false
    }
  }
}
