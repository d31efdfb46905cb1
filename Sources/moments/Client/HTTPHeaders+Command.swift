import Foundation
import HTTP
import Networking

extension HTTPHeaders {
  /// What the command tells a server of itself: `User-Agent`, and the same in separate fields, by which some backends
  /// count their clients.
  static func ofCommand() throws(RequestError) -> HTTPHeaders {
    let system = ProcessInfo.processInfo.operatingSystemVersion
    var headers = HTTPHeaders.userAgent(name: "moments")
    try headers.append("x-app-platform", "linux")
    try headers.append("x-app-version", MomentsSDK.version)
    try headers.append("x-os-version", "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)")
    return headers
  }
}
