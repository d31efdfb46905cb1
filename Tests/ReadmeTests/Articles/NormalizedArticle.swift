// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import Networking
import Repository
import Streams
import StrictJSON

enum NormalizedArticle {
  struct Issue: Codable, Sendable {
    var id: String
    var title: String
  }

  struct Card: Codable, Sendable {
    var id: String
    var title: String
  }

  struct GetIssues: GraphQLSession {
    struct ResponseData: Codable, Sendable { var issues: [Issue] }
    static let query: GraphQLDocument = "query getIssues { issues(first: 10) { id title } }"
  }

  struct GetIssue: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let id: String }
    struct ResponseData: Codable, Sendable { var issue: Issue? }
    static let query: GraphQLDocument = "query getIssue($id: ID!) { issue(id: $id) { id title } }"
    let variables: Variables
  }

  struct GetFeed: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let first: Int, after: String? }
    struct ResponseData: Codable, Sendable {
      struct Feed: Codable, Sendable {
        struct PageInfo: Codable, Sendable {
          var hasNextPage: Bool
          var endCursor: String?
        }
        var nodes: [Issue]
        var pageInfo: PageInfo
      }
      var feed: Feed
    }
    static let query: GraphQLDocument = """
      query getFeed($first: Int, $after: String) {
        feed(first: $first, after: $after) { nodes { id title } pageInfo { hasNextPage endCursor } }
      }
      """
    let variables: Variables
  }

  struct RenameIssue: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let id: String, title: String }
    struct ResponseData: Codable, Sendable { var rename: Issue }
    static let query: GraphQLDocument = """
      mutation rename($id: ID!, $title: String!) { rename(id: $id, title: $title) { id title } }
      """
    let variables: Variables
  }

  struct AddIssue: GraphQLSession {
    struct Variables: Encodable, Hashable, Sendable { let title: String }
    struct ResponseData: Codable, Sendable { var add: Issue }
    static let query: GraphQLDocument = "mutation add($title: String!) { add(title: $title) { id title } }"
    let variables: Variables
  }

  struct IssueChanged: GraphQLSubscription {
    struct ResponseData: Codable, Sendable { var issueChanged: Issue }
    static let query: GraphQLDocument = "subscription issueChanged { issueChanged { id title } }"
  }

  static func read(
    client: APIClient, schemaText: String, bag: DisposeBag,
    show: @escaping @Sendable (GetIssues.ResponseData?, Bool) -> Void
  ) async throws -> GetIssue.ResponseData {
    var schema = try RecordSchema(schemaText)  // schema.graphql
    schema.keyFields["Country"] = ["code"]  // the key of the others is `id`, where they have it
    let store = NormalizedStore(client, schema: schema)

    store.stream(GetIssues(), .cacheAndNetwork)  // Observable<Snapshot<GetIssues.ResponseData>>
      .subscribe(onNext: { snapshot in show(snapshot.value, snapshot.isFetching) })
      .disposed(by: bag)

    let issue = try await store.cached(GetIssue(variables: .init(id: "7"))).value  // if it is fresh, else the server's
    return issue
  }

  static func part(
    store: NormalizedStore, bag: DisposeBag, show: @escaping @Sendable (GetIssue.ResponseData?, Bool) -> Void
  ) {
    store.stream(GetIssue(variables: .init(id: "7")), allowsPartial: true)  // its title now, the rest when it is here
      .subscribe(onNext: { snapshot in show(snapshot.value, snapshot.isPartial) })
      .disposed(by: bag)
  }

  static func staleTimes() -> NormalizedConfiguration {
    var configuration = NormalizedConfiguration()
    configuration.staleTimes = ["Query.prices": .seconds(5), "Product": .seconds(60), "Product.stock": .seconds(10)]
    return configuration
  }

  static func rename(store: NormalizedStore, bag: DisposeBag) {
    store.mutate(
      RenameIssue(variables: .init(id: "7", title: "Crash")),
      optimisticResponse: .init(rename: .init(id: "7", title: "Crash"))
    )
    .subscribe(onError: { error in print(error) })
    .disposed(by: bag)
  }

  static func add(store: NormalizedStore, title: String) -> Observable<AddIssue.ResponseData> {
    store.mutate(AddIssue(variables: .init(title: title))) { response, edits in
      try edits.update(GetIssues()) { list in
        if list.issues.contains(where: { $0.id == response.add.id }) { return }
        list.issues.insert(.init(id: response.add.id, title: title), at: 0)
      }
    }
  }

  static func paging(schemaText: String) throws -> RecordSchema {
    var schema = try RecordSchema(schemaText)
    schema.paging["User.followers"] = .connection  // first, after, last, before; edges or nodes, and pageInfo
    schema.paging["Query.search"] = .offset("skip", limit: "take")
    schema.pageConnections()  // or: all fields whose type's name ends in Connection
    return schema
  }

  static func page(
    store: NormalizedStore, bag: DisposeBag, show: @escaping @Sendable ([Issue], Bool) -> Void
  ) -> ConnectionPager<Issue, String> {
    let pager = store.pager { page in
      GetFeed(variables: .init(first: 20, after: page.after))
    } page: { data in
      Page(data.feed.nodes, hasNextPage: data.feed.pageInfo.hasNextPage, endCursor: data.feed.pageInfo.endCursor)
    }

    pager.states  // Observable<ConnectionState<Issue>>: what is cached at once, then each change
      .subscribe(onNext: { state in show(state.items, state.isLoading) })
      .disposed(by: bag)
    pager.refresh()  // the first page
    pager.loadMore()  // the next page; loadPrevious() for a list that is loaded backwards
    return pager
  }

  static func poll(
    store: NormalizedStore, bag: DisposeBag,
    show: @escaping @Sendable (GetIssues.ResponseData?, Bool) -> Void
  ) {
    store.stream(GetIssues(), every: .seconds(10))  // Observable<Snapshot<GetIssues.ResponseData>>
      .subscribe(onNext: { snapshot in show(snapshot.value, snapshot.isFetching) })
      .disposed(by: bag)
  }

  struct Rename: Codable, Sendable {
    let id: String
    let title: String
  }

  static func open(client: APIClient, schema: RecordSchema, folder: URL, account: String) throws -> NormalizedStore {
    let store = try NormalizedStore(client, schema: schema, folder: folder, partition: account)
    return store
  }

  static func queue(
    store: NormalizedStore, client: APIClient, schema: RecordSchema, folder: URL, account: String
  ) async throws -> NormalizedResponse<RenameIssue.ResponseData> {
    let outbox = try Outbox<Rename, NormalizedResponse<RenameIssue.ResponseData>>(
      folder: folder, partition: account, isIdempotent: { _ in true }
    ) { rename, key in
      RenameIssue(variables: .init(id: rename.id, title: rename.title)).post(on: client, for: schema)
    }
    store.show(outbox) { rename in
      .of(
        RenameIssue(variables: .init(id: rename.id, title: rename.title)),
        optimisticResponse: ["rename": ["id": .string(rename.id), "title": .string(rename.title)]])
    }
    let response = try await outbox.submit(Rename(id: "7", title: "Crash")).value  // or `OutboxError.queued`
    return response
  }

  static func edit(store: NormalizedStore, bag: DisposeBag) throws -> Observable<Card> {
    try store.update(GetIssue(variables: .init(id: "7"))) { $0.issue?.title = "Crash" }

    let card: GraphQLDocument = "fragment card on Issue { id title }"
    try store.update(Card.self, card, of: EntityID("Issue", id: "7")) { $0.title = "Crash" }
    let cards = store.values(Card.self, card, of: EntityID("Issue", id: "7"))  // Observable<Card>, live

    store.follow(IssueChanged(), invalidating: [GetIssues()])  // what a subscription brings is written in
      .subscribe(onNext: { event in print(event) })
      .disposed(by: bag)

    store.invalidate(EntityID("Issue", id: "7"), field: "state")
    try store.invalidate(GetIssues())
    return cards
  }
}
