import Foundation
public import HTTP

extension HTTPHeaders {
  /// `User-Agent`: the name and version of the application, and those of the system.
  ///
  /// Of the application's name and version, only ASCII letters, digits and `-._` are kept.
  public static func userAgent(name: String = "MomentsSDK", version: String = sdkVersion) -> HTTPHeaders {
    headers([("User-Agent", "\(name.productToken)/\(version.productToken) (\(platformName) \(systemVersion))")])
  }

  /// `User-Agent`, and the same information in separate fields, by which some backends count their clients:
  /// `x-app-platform`, `x-app-version` and `x-os-version`.
  public static func platform(name: String = "MomentsSDK", version: String = sdkVersion) -> HTTPHeaders {
    headers([
      ("x-app-platform", platformName), ("x-app-version", version.productToken), ("x-os-version", systemVersion),
    ]).merging(missingFrom: .userAgent(name: name, version: version))
  }

  /// The version of this SDK.
  public static var sdkVersion: String { "0.1.0" }

  private static func headers(_ fields: [(name: String, value: String)]) -> HTTPHeaders {
    HTTPHeaders(fields.compactMap { try? HTTPField(name: $0.name, value: $0.value) })
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
