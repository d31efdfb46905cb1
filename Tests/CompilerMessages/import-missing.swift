// A type whose module is not imported.
// message: cannot find 'RetryMiddleware' in scope

import Foundation
import GraphQLClient

#if CORRECT
  import HTTPMiddlewares
#endif

func client(_ url: URL) throws -> APIClient { try APIClient(baseURL: url, middlewares: [RetryMiddleware()]) }
