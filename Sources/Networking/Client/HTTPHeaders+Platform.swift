import Foundation
public import HTTP

extension HTTPHeaders {
  /// What a client tells of itself: `x-app-platform`, `x-app-version`, `x-os-version` and `User-Agent`.
  ///
  /// Name and version are the application's; of a name the letters, digits and `-._` are kept.
  public static func platform(name: String = "MomentsSDK", version: String = sdkVersion) -> HTTPHeaders {
    let system = ProcessInfo.processInfo.operatingSystemVersion
    let release = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
    let product = "\(name.productToken)/\(version.productToken)"
    let pairs = [
      ("x-app-platform", platformName), ("x-app-version", version.productToken), ("x-os-version", release),
      ("User-Agent", "\(product) (\(platformName) \(release))"),
    ]
    return HTTPHeaders(pairs.compactMap { try? HTTPField(name: $0.0, value: $0.1) })
  }

  /// The version of this SDK.
  public static var sdkVersion: String { "0.1.0" }

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
