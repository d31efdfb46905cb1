// swift-tools-version: 6.3

import PackageDescription

// By a URL the SDK would be known under the URL's last part; by a path it is known under the name of its folder.
let sdk = Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased() ?? ""

let package = Package(
  name: "GRDBStore",
  products: [.library(name: "GRDBStore", targets: ["GRDBStore"])],
  dependencies: [
    .package(path: "../.."),
    // Needs SQLite's headers: libsqlite3-dev on Debian.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .target(
      name: "GRDBStore",
      dependencies: [
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Repository", package: sdk),
      ]),
    .testTarget(
      name: "GRDBStoreTests",
      dependencies: [
        "GRDBStore",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Repository", package: sdk),
        .product(name: "StoreConformance", package: sdk),
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
