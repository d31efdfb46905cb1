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
    // Needs SQLite's headers: libsqlite3-dev on Debian.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .target(
      name: "GRDBStore",
      dependencies: [
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Repository", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "GRDBStoreTests",
      dependencies: [
        "GRDBStore",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTP", package: "MomentsSDK"),
        .product(name: "Repository", package: "MomentsSDK"),
        .product(name: "StoreConformance", package: "MomentsSDK"),
      ]),
    .target(
      name: "GRDBSessions",
      dependencies: [
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTP", package: "MomentsSDK"),
        .product(name: "Models", package: "MomentsSDK"),
        .product(name: "Networking", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "GRDBSessionsTests",
      dependencies: [
        "GRDBSessions",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTP", package: "MomentsSDK"),
        .product(name: "Models", package: "MomentsSDK"),
        .product(name: "Networking", package: "MomentsSDK"),
        .product(name: "Repository", package: "MomentsSDK"),
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
