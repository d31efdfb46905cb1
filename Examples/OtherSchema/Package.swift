// swift-tools-version: 6.3

import PackageDescription

// By a URL the SDK would be known under the URL's last part; by a path it is known under the name of its folder.
let sdk = Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased() ?? ""

let package = Package(
  name: "OtherSchema",
  products: [.library(name: "Bookshop", targets: ["Bookshop"])],
  dependencies: [.package(path: "../..")],
  targets: [
    // This schema has a module `Models` of its own; the SDK's is renamed for this package.
    .target(name: "Models"),
    .target(
      name: "Bookshop",
      dependencies: [
        "Models",
        .product(name: "MomentsSDK", package: sdk, moduleAliases: ["Models": "MomentsModels"]),
      ]),
    .testTarget(
      name: "BookshopTests",
      dependencies: ["Bookshop", "Models", .product(name: "NetworkingTesting", package: sdk)]),
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
