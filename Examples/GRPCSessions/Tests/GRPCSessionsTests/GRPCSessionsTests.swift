import GRPCCore
import GRPCSessions
import HTTPClientCore
import Models
import MomentsService
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

  @Test(arguments: Way.allCases)
  func `a repository takes the sessions as they are, and a like reaches its watchers`(_ way: Way) async throws {
    let backend = Backend { call in
      switch call {
      case .getMoments("0"): .just(timeline())
      case .updateLike(let isLiked, "m0", "0", nil): .just(timeline(isLiked: isLiked))
      default: .error(RequestError(.invalidRequest, "\(call)"))
      }
    }
    try await withService(way, backend) { sessions, _ in
      let repo = MomentsRepo(
        getMomentsByUserIDSession: sessions.getMoments, updateMomentLikeSession: sessions.updateLike)
      #expect(try await repo.getMoments(userID: "0").value == timeline())
      _ = try await repo.updateLike(isLiked: true, momentID: "m0", fromUserID: "0").value
      #expect(try await repo.momentsDetails(userID: "0").take(1).value == timeline(isLiked: true))
    }
  }

  @Test(arguments: Way.allCases)
  func `an idempotency key arrives`(_ way: Way) async throws {
    let backend = Backend { call in
      call == .updateLike(true, "m0", "0", "k-1") ? .just(timeline()) : .error(RequestError(.unknown, "\(call)"))
    }
    try await withService(way, backend) { sessions, _ in
      let liked = try await sessions.updateLike.updateLike(true, momentID: "m0", fromUserID: "0", idempotencyKey: "k-1")
        .value
      #expect(liked == timeline())
    }
  }

  private func code(of error: RequestError?) -> RPCError.Code? {
    (error?.cause as? RPCError)?.code ?? (error?.cause as? GRPCStatus).map { RPCError.Code($0.code) }
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

  @Test(arguments: Way.allCases, failures)
  func `an error of the backend becomes a status, and that an error of the session`(
    _ way: Way, _ example: (RequestError, RequestError.Kind, RPCError.Code, status: Int?)
  ) async throws {
    let (failure, kind, code, status) = example
    try await withService(way, Backend { _ in .error(failure) }) { sessions, _ in
      let error = await #expect(throws: RequestError.self) {
        try await sessions.getMoments.getMoments(userID: "0").value
      }
      #expect(error?.kind == kind)
      #expect(error?.status == status)
      #expect(error?.operationName == "GetMoments")
      #expect(self.code(of: error) == code)
      #expect(error?.isOutage == failure.isOutage || kind == .gRPC)
      #expect(error?.isUnauthenticated == failure.isUnauthenticated)
      #expect(error?.isForbidden == failure.isForbidden)
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test(arguments: Way.allCases)
  func `a gateway passes the status of a service behind it on`(_ way: Way) async throws {
    let refusal = RequestError(gRPC: RPCError(code: .alreadyExists, message: "schon da: 100 % übrig"))
    try await withService(way, Backend { _ in .error(refusal) }) { inner, _ in
      try await withService(way, Backend { _ in inner.getMoments.getMoments(userID: "0") }) { sessions, _ in
        let error = await #expect(throws: RequestError.self) {
          try await sessions.getMoments.getMoments(userID: "0").value
        }
        #expect(code(of: error) == .alreadyExists)
        #expect(error?.message == "alreadyExists: schon da: 100 % übrig")
      }
    }
  }

  @Test(arguments: Way.allCases)
  func `a timeline without an owner is not decodable`(_ way: Way) async throws {
    let details = MomentsDetails(userDetails: .init(id: "", name: "", avatar: "", backgroundImage: ""), moments: [])
    try await withService(way, Backend { _ in .just(details) }) { sessions, _ in
      let error = await #expect(throws: RequestError.self) {
        try await sessions.getMoments.getMoments(userID: "0").value
      }
      #expect(error?.kind == .undecodable)
      #expect(error?.message.contains("owner.id") == true)
    }
  }

  @Test(arguments: Way.allCases)
  func `disposing cancels the call, and on the server the backend's request`(_ way: Way) async throws {
    let (events, log) = AsyncStream.makeStream(of: String.self)
    let backend = Backend { _ in
      .create { _ in
        log.yield("started")
        return Disposables.create { log.yield("disposed") }
      }
    }
    try await withService(way, backend) { sessions, _ in
      var seen = events.makeAsyncIterator()
      let subscription = sessions.getMoments.getMoments(userID: "0").subscribe(onNext: { _ in }, onError: { _ in })
      #expect(await seen.next() == "started")
      subscription.dispose()
      #expect(await seen.next() == "disposed")
    }
  }

  @Test(arguments: Way.allCases)
  func `a deadline ends the call here, and on the server the backend's request`(_ way: Way) async throws {
    let (events, log) = AsyncStream.makeStream(of: String.self)
    let backend = Backend { _ in .create { _ in Disposables.create { log.yield("disposed") } } }
    try await withService(way, backend, timeout: .milliseconds(300)) { sessions, _ in
      let error = await #expect(throws: RequestError.self) {
        try await sessions.getMoments.getMoments(userID: "0").value
      }
      #expect(error?.kind == .timedOut)
      #expect(error?.isOutage == true)
      var seen = events.makeAsyncIterator()
      #expect(await seen.next() == "disposed")
    }
  }

  @Test(arguments: Way.allCases)
  func `a server that is not there is an outage`(_ way: Way) async throws {
    let port = try await withService(way, Backend { _ in .just(timeline()) }) { sessions, port in
      _ = try await sessions.getMoments.getMoments(userID: "0").value
      return port
    }
    try await withClient(way, port: port) { sessions in
      let error = await #expect(throws: RequestError.self) {
        try await sessions.getMoments.getMoments(userID: "0").value
      }
      #expect(error?.kind == (way == .library ? .connectionLost : .cannotConnect))
      #expect(error?.isOutage == true)
      #expect(way == .library || error?.reached == .never)
    }
  }
}
