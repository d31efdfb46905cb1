// A client without a transport, where the package's trait SocketHTTP is off.
// trait off: SocketHTTP
// message: there is no transport: pass one, or enable the trait SocketHTTP of the package MomentsSDK

import Foundation
import GraphQLClient
import SocketHTTP

func client(_ url: URL) throws -> APIClient {
  #if CORRECT
    try APIClient(baseURL: url, transport: SocketTransport())
  #else
    try APIClient(baseURL: url)
  #endif
}
