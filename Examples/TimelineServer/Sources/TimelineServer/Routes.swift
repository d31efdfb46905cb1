import Foundation
import GraphQLClient
import Hummingbird
import Logging
import Models
import ServiceLifecycle
import Stores
import Streams
import StrictJSON

/// The routes:
///
/// - `POST /login?user=0` signs a user in, and sets the cookie that the others need;
/// - `GET /timelines/0?page=1` gives a page of 20 moments as JSON, with its age;
/// - `GET /timelines/0/events` sends the newest page at once, and whenever it changes, as server-sent events;
/// - `PUT /timelines/0/likes/m0-7` and `DELETE` set and remove a like of the signed-in user;
/// - `GET /` is a page for the browser on top of these.
func router(_ timelines: Timelines, _ visitors: Visitors) -> Router<BasicRequestContext> {
  let router = Router()
  router.addMiddleware {
    TracingMiddleware()
    LogRequestsMiddleware(.info)
    MetricsMiddleware()
  }
  router.get("/") { _, _ in
    Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8"], body: .init(byteBuffer: .init(string: page)))
  }
  router.post("login") { request, _ in
    let userID = try request.uri.queryParameters.require("user")
    let visitor = try await withRefusals { try await timelines.logIn(userID) }
    var response = Response(status: .noContent)
    response.setCookie(
      Cookie(name: Visitors.cookie, value: visitors.admit(visitor), path: "/", httpOnly: true, sameSite: .lax))
    return response
  }
  router.get("timelines/:user") { request, context in
    let userID = try context.parameters.require("user")
    let page = request.uri.queryParameters.get("page", as: Int.self) ?? 1
    guard page >= 1 else { throw HTTPError(.badRequest, message: "Pages are counted from 1.") }
    let snapshot = try await visitors.serve(request) { visitor, policy in
      try await timelines.timeline(of: userID, for: visitor, policy)
    }
    return try json(TimelinePage(snapshot, page))
  }
  router.get("timelines/:user/events") { request, context in
    let userID = try context.parameters.require("user")
    let updates = try await visitors.serve(request) { visitor, policy in
      _ = try await timelines.timeline(of: userID, for: visitor, policy)
      return try timelines.updates(of: userID, for: visitor)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: events(updates, of: request))
  }
  for (method, isLiked) in [(HTTPRequest.Method.put, true), (.delete, false)] {
    router.on("timelines/:user/likes/:moment", method: method) { request, context in
      let (ownerID, momentID) = (try context.parameters.require("user"), try context.parameters.require("moment"))
      try await visitors.serve(request) { visitor, _ in
        try await timelines.setLike(isLiked, momentID: momentID, in: ownerID, for: visitor)
      }
      return Response(status: .noContent)
    }
  }
  return router
}

/// The first page of each snapshot as a server-sent event, until the browser leaves or the server shuts down, and for ten
/// minutes at most: then the browser connects again, and its token is checked. Only the newest snapshot waits for a
/// browser that reads slowly.
private func events(_ updates: Observable<MomentsSnapshot>, of request: Request) -> ResponseBody {
  ResponseBody { writer in
    try await request.body.consumeWithCancellationOnInboundClose { _ in
      let limit = Observable.just(()).delay(.seconds(600), scheduler: ConcurrentScheduler())
      let snapshots = updates.take(until: limit).values(bufferingPolicy: .bufferingNewest(1)).cancelOnGracefulShutdown()
      for try await snapshot in snapshots where snapshot.value != nil {
        var event = ByteBuffer(string: "data: ")
        event.writeBytes(try JSONCoder().encode(TimelinePage(snapshot, 1)))
        event.writeString("\n\n")
        try await writer.write(event)
      }
    }
    try await writer.finish(nil)
  }
}

/// A page of a timeline, as the browser gets it.
struct TimelinePage: Codable, Sendable {
  static let size = 20

  let owner: String
  let page: Int
  let pageCount: Int
  /// How many seconds ago the BFF sent it.
  let age: Double
  /// Whether the BFF was asked for a newer one, and has not given it.
  let isOffline: Bool
  let moments: [MomentsDetails.Moment]

  init(_ snapshot: MomentsSnapshot, _ page: Int) throws {
    let timeline = try snapshot.requireValue()
    owner = timeline.userDetails.name
    self.page = page
    pageCount = (timeline.moments.count + Self.size - 1) / Self.size
    age = snapshot.age / .seconds(1)
    isOffline = !snapshot.errors.isEmpty && !snapshot.isPartial
    let (start, isTooLarge) = (page - 1).multipliedReportingOverflow(by: Self.size)
    moments = isTooLarge ? [] : Array(timeline.moments.dropFirst(start).prefix(Self.size))
  }
}

private func json(_ value: some Encodable) throws -> Response {
  let body = try JSONCoder().encode(value)
  return Response(
    status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(bytes: body)))
}
