// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "RedisStore",
  products: [.library(name: "RedisStore", targets: ["RedisStore"])],
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    // Needs the headers of hiredis: libhiredis-dev on Debian.
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    .target(
      name: "RedisStore",
      dependencies: [
        "CHiredis",
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    // One process of a fleet: for the tests, and to measure.
    .executableTarget(
      name: "fleet",
      dependencies: [
        "RedisStore",
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    // One process of the fleet that Scripts/soak keeps under load.
    .executableTarget(
      name: "soak-member",
      dependencies: [
        "RedisStore",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "RedisStoreTests",
      dependencies: [
        "RedisStore", "fleet",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "StoreConformance", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
  ]
)

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
