// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "GRDBStore",
  products: [
    .library(name: "GRDBStore", targets: ["GRDBStore"]),
    .library(name: "GRDBSessions", targets: ["GRDBSessions"]),
  ],
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "Moments", path: "../../Moments"),
    // Needs SQLite's headers: libsqlite3-dev on Debian.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .target(
      name: "GRDBStore",
      dependencies: [
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "GRDBStoreTests",
      dependencies: [
        "GRDBStore",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "StoreConformance", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .target(
      name: "GRDBSessions",
      dependencies: [
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "GRDBSessionsTests",
      dependencies: [
        "GRDBSessions",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
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
