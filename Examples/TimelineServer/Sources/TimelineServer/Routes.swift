import Foundation
import Hummingbird
import Logging
import NIOCore
import Stores
import Streams
import StrictJSON

/// The routes:
///
/// - `POST /login?user=0` signs a user in, and sets the cookie that the others need; where a browser has those of
///   several users, `as=0` in the query says which one counts;
/// - `GET /timelines/0?page=1` gives a page of 20 moments as JSON, with its age;
/// - `GET /timelines/0/events?page=1` sends the page at once, and whenever it changes, as server-sent events, and
///   the ``Figures``, as events of that name;
/// - `PUT /timelines/0/likes/m0-7` and `DELETE` set and remove a like of the signed-in user;
/// - `GET /` is a page for the browser on top of these, with `/page.css` and `/page.js`;
/// - `GET /health` says that the server runs, whatever the backend does.
///
/// Wherever there is `GET`, there is `HEAD`.
func router(
  _ timelines: Timelines, _ visitors: Visitors, _ figures: Observable<Figures>
) -> Router<VisitorContext> {
  let router = Router(context: VisitorContext.self, options: .autoGenerateHeadEndpoints)
  router.addMiddleware { SecurityHeaders() }
  router.get("health") { _, _ in "ok\n" }
  router.addMiddleware {
    TracingMiddleware()
    LogRequestsMiddleware(.info)
    MetricsMiddleware()
  }
  for (path, type, bytes) in [
    ("/", "text/html", PackageResources.page_html), ("page.css", "text/css", PackageResources.page_css),
    ("page.js", "text/javascript", PackageResources.page_js),
  ] {
    router.get(RouterPath(path)) { _, _ in
      // A page and its script are of one version of the server.
      Response(
        status: .ok, headers: [.contentType: "\(type); charset=utf-8", .cacheControl: "no-cache"],
        body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }
  router.post("login") { request, _ in
    let userID = try request.uri.queryParameters.require("user")
    let visitor = try await withRefusals { try await timelines.logIn(userID) }
    var response = Response(status: .noContent)
    response.setCookie(visitors.admit(visitor))
    return response
  }
  router.get("timelines/:user") { request, context in
    let userID = try context.parameter("user")
    let page = try request.page
    let snapshot = try await visitors.serve(request) { visitor, policy in
      try await timelines.timeline(of: userID, for: visitor, policy)
    }
    return try json(TimelinePage(snapshot, page))
  }
  router.get("timelines/:user/events") { request, context in
    let userID = try context.parameter("user")
    let page = try request.page
    let updates = try await visitors.serve(request) { visitor, policy in
      _ = try await timelines.timeline(of: userID, for: visitor, policy)
      return timelines.updates(of: userID, for: visitor)
    }
    let pages = updates.filter { $0.snapshot.value != nil }
      .map { try TimelinePage($0.snapshot, page, isFollowed: $0.isFollowed) }
    return events(pages, figures, of: request, on: context.channel, visitors)
  }
  for (method, isLiked) in [(HTTPRequest.Method.put, true), (.delete, false)] {
    router.on("timelines/:user/likes/:moment", method: method) { request, context in
      let (ownerID, momentID) = (try context.parameter("user"), try context.parameter("moment"))
      try await visitors.serve(request) { visitor, _ in
        try await timelines.setLike(isLiked, momentID: momentID, in: ownerID, for: visitor)
      }
      return Response(status: .noContent)
    }
  }
  return router
}

/// What is known of a request.
struct VisitorContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The visitor's connection.
  let channel: any Channel

  init(source: Source) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}

extension RequestContext {
  /// A part of the path, of which Hummingbird gives the bytes as they came: `m0%2D3` is `m0-3`.
  fileprivate func parameter(_ name: String) throws -> String {
    guard let text = try parameters.require(name).removingPercentEncoding else {
      throw HTTPError(.badRequest, message: "The path is not UTF-8.")
    }
    return text
  }
}

extension Request {
  /// The page that the query names; the first one by default.
  fileprivate var page: Int {
    get throws {
      guard let text = uri.queryParameters.get("page") else { return 1 }
      guard let page = Int(text), page >= 1 else { throw HTTPError(.badRequest, message: "Pages are counted from 1.") }
      return page
    }
  }
}

private func json(_ value: some Encodable) throws -> Response {
  let body = try JSONCoder().encode(value)
  return Response(
    status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
    body: .init(byteBuffer: ByteBuffer(bytes: body)))
}
