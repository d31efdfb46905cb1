import GRPCCore
import GRPCSessions
import HTTPClientCore
import Models
import Networking
import Repository
import Streams
import Testing

@Suite struct GRPCSessionsTests {
  private func timeline(isLiked: Bool = false) -> MomentsDetails {
    MomentsDetails(
      userDetails: .init(id: "0", name: "Lin Wei", avatar: "a.png", backgroundImage: "b.png"),
      moments: [
        .init(
          id: "m0", userDetails: .init(name: "Lin Wei", avatar: "a.png"), type: .url, title: "",
          url: "https://tea.example/", createdDate: "1700000000", isLiked: isLiked,
          likes: isLiked ? [.init(id: "0", avatar: "a.png")] : []),
        .init(
          id: "m1", userDetails: .init(name: "Mei", avatar: "m.png"), type: .unknown("VIDEO"), photos: ["1", "2"],
          createdDate: "1600000000", isLiked: false, likes: []),
      ])
  }

  @Test func `a repository takes the sessions as they are, and a like reaches its watchers`() async throws {
    let backend = Backend { call in
      switch call {
      case .getMoments("0"): .just(timeline())
      case .updateLike(let isLiked, "m0", "0", nil): .just(timeline(isLiked: isLiked))
      default: .error(RequestError(.invalidRequest, "\(call)"))
      }
    }
    try await withService(backend) { service, _ in
      let repo = MomentsRepo(
        getMomentsByUserIDSession: GetMomentsByUserIDSessionGRPC(service),
        updateMomentLikeSession: UpdateMomentLikeSessionGRPC(service))
      #expect(try await repo.getMoments(userID: "0").value == timeline())
      _ = try await repo.updateLike(isLiked: true, momentID: "m0", fromUserID: "0").value
      #expect(try await repo.momentsDetails(userID: "0").take(1).value == timeline(isLiked: true))
    }
  }

  @Test func `an idempotency key arrives`() async throws {
    let backend = Backend { call in
      call == .updateLike(true, "m0", "0", "k-1") ? .just(timeline()) : .error(RequestError(.unknown, "\(call)"))
    }
    try await withService(backend) { service, _ in
      let session = UpdateMomentLikeSessionGRPC(service)
      let liked = try await session.updateLike(true, momentID: "m0", fromUserID: "0", idempotencyKey: "k-1").value
      #expect(liked == timeline())
    }
  }

  static let failures: [(RequestError, RequestError.Kind, RPCError.Code, status: Int?)] = [
    (RequestError(.httpStatus, "secret", status: 401), .gRPC, .unauthenticated, 401),
    (RequestError(.httpStatus, "secret", status: 403), .gRPC, .permissionDenied, 403),
    (RequestError(.httpStatus, "secret", status: 404), .gRPC, .notFound, 404),
    (RequestError(.rateLimited, "secret"), .rateLimited, .resourceExhausted, 429),
    (RequestError(.cannotConnect, "secret"), .connectionLost, .unavailable, nil),
    (RequestError(.timedOut, "secret"), .timedOut, .deadlineExceeded, nil),
    (RequestError(.cancelled, "secret"), .cancelled, .cancelled, nil),
    (RequestError(.undecodable, "secret"), .gRPC, .internalError, 500),
  ]

  @Test(arguments: failures)
  func `an error of the backend becomes a status, and that an error of the session`(
    _ failure: RequestError, _ kind: RequestError.Kind, _ code: RPCError.Code, status: Int?
  ) async throws {
    try await withService(Backend { _ in .error(failure) }) { service, _ in
      let error = await #expect(throws: RequestError.self) {
        try await GetMomentsByUserIDSessionGRPC(service).getMoments(userID: "0").value
      }
      #expect(error?.kind == kind)
      #expect(error?.status == status)
      #expect(error?.operationName == "GetMoments")
      #expect((error?.cause as? RPCError)?.code == code)
      #expect(error?.isOutage == failure.isOutage || kind == .gRPC)
      #expect(error?.isUnauthenticated == failure.isUnauthenticated)
      #expect(error?.isForbidden == failure.isForbidden)
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test func `a timeline without an owner is not decodable`() async throws {
    let details = MomentsDetails(userDetails: .init(id: "", name: "", avatar: "", backgroundImage: ""), moments: [])
    try await withService(Backend { _ in .just(details) }) { service, _ in
      let error = await #expect(throws: RequestError.self) {
        try await GetMomentsByUserIDSessionGRPC(service).getMoments(userID: "0").value
      }
      #expect(error?.kind == .undecodable)
      #expect(error?.message.contains("owner.id") == true)
    }
  }

  @Test func `disposing cancels the call, and on the server the backend's request`() async throws {
    let (events, log) = AsyncStream.makeStream(of: String.self)
    let backend = Backend { _ in
      .create { _ in
        log.yield("started")
        return Disposables.create { log.yield("disposed") }
      }
    }
    try await withService(backend) { service, _ in
      var seen = events.makeAsyncIterator()
      let session = GetMomentsByUserIDSessionGRPC(service)
      let subscription = session.getMoments(userID: "0").subscribe(onNext: { _ in }, onError: { _ in })
      #expect(await seen.next() == "started")
      subscription.dispose()
      #expect(await seen.next() == "disposed")
    }
  }

  @Test func `a deadline ends the call here, and on the server the backend's request`() async throws {
    let (events, log) = AsyncStream.makeStream(of: String.self)
    let backend = Backend { _ in .create { _ in Disposables.create { log.yield("disposed") } } }
    try await withService(backend, timeout: .milliseconds(300)) { service, _ in
      let error = await #expect(throws: RequestError.self) {
        try await GetMomentsByUserIDSessionGRPC(service).getMoments(userID: "0").value
      }
      #expect(error?.kind == .timedOut)
      #expect(error?.isOutage == true)
      var seen = events.makeAsyncIterator()
      #expect(await seen.next() == "disposed")
    }
  }

  @Test func `a server that is not there is an outage`() async throws {
    let port = try await withService(Backend { _ in .just(timeline()) }) { service, port in
      _ = try await GetMomentsByUserIDSessionGRPC(service).getMoments(userID: "0").value
      return port
    }
    try await withClient(port: port) { service in
      let error = await #expect(throws: RequestError.self) {
        try await GetMomentsByUserIDSessionGRPC(service).getMoments(userID: "0").value
      }
      #expect(error?.kind == .connectionLost)
      #expect(error?.isOutage == true)
    }
  }
}
