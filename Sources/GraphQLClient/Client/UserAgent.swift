public import HTTPClientCore
import SystemBase

extension HTTPHeaders {
  /// `User-Agent`: the name and version of this SDK, and those of the system.
  public static func userAgent() -> HTTPHeaders { userAgent(name: sdkName, version: sdkVersion) }

  /// `User-Agent`: the name and version of the application, and those of the system.
  ///
  /// Of the application's name and version, only ASCII letters, digits and `-._` are kept.
  public static func userAgent(name: String, version: String) -> HTTPHeaders {
    headers([("User-Agent", "\(name.productToken)/\(version.productToken) (\(platformName) \(systemVersion))")])
  }

  /// ``platform(name:version:)`` with the name and version of this SDK.
  public static func platform() -> HTTPHeaders { platform(name: sdkName, version: sdkVersion) }

  /// `User-Agent`, and the same information in separate fields, by which some backends count their clients:
  /// `x-app-platform`, `x-app-version` and `x-os-version`.
  public static func platform(name: String, version: String) -> HTTPHeaders {
    headers([
      ("x-app-platform", platformName), ("x-app-version", version.productToken), ("x-os-version", systemVersion),
    ]).adding(defaults: .userAgent(name: name, version: version))
  }

  /// The version of this SDK.
  public static var sdkVersion: String { SDKVersion.current }

  private static var sdkName: String { "MomentsSDK" }

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
