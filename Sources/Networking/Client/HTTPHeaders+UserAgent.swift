import Foundation
public import HTTP

extension HTTPHeaders {
  /// `User-Agent`: the name and version of the application, and those of the system.
  ///
  /// Of the application's name and version, only ASCII letters, digits and `-._` are kept.
  public static func userAgent(name: String = "MomentsSDK", version: String = MomentsSDK.version) -> HTTPHeaders {
    let product = "\(name.productToken)/\(version.productToken)"
    let field = try? HTTPField(name: "User-Agent", value: "\(product) (\(platformName) \(systemVersion))")
    return HTTPHeaders(field.map { [$0] } ?? [])
  }

  private static var systemVersion: String {
    let system = ProcessInfo.processInfo.operatingSystemVersion
    return "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
  }

  private static var platformName: String {
    #if os(Linux)
      "linux"
    #elseif os(macOS)
      "macos"
    #else
      "other"
    #endif
  }
}

extension String {
  fileprivate var productToken: String {
    let kept = filter { ($0.isASCII && ($0.isLetter || $0.isNumber)) || "-._".contains($0) }
    return kept.isEmpty ? "unknown" : kept
  }
}
