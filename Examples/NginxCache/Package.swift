// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "NginxCache",
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    // One process of a fleet.
    .executableTarget(
      name: "Fleet",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "NginxCacheTests",
      dependencies: [
        "Fleet",
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
