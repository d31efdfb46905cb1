// A pager whose closure returns rows in the place of a page.
// message: the closure returns a Page: write Page(rows, hasNextPage: …, endCursor: …)
// message: cannot convert value of type '[User]' to closure result type 'Page<User, String>'

import GraphQLClient
import Stores
import Streams

func pagers(_ store: NormalizedStore, _ session: GetUser, _ client: APIClient) {
  #if CORRECT
    let shared = store.pager { (page: PagePosition<String>) in
      session
    } page: { data in
      Page([data.user], hasNextPage: false, endCursor: nil)
    }
    let own = Pager<User, String> { cursor in
      session.data(on: client).map { Page([$0.user], hasNextPage: false, endCursor: nil) }
    }
  #else
    let shared = store.pager { (page: PagePosition<String>) in
      session
    } page: { data in
      [data.user]
    }
    let own = Pager<User, String> { cursor in session.data(on: client).map { [$0.user] } }
  #endif
  _ = (shared, own)
}
