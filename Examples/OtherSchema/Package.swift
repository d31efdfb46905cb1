// swift-tools-version: 6.3

import PackageDescription

// Module aliases need the identity of the package: the name of its folder here, the last part of a URL for a remote
// package.
let sdk = Context.packageDirectory.split(separator: "/").dropLast(2).last?.lowercased() ?? ""

let package = Package(
  name: "OtherSchema",
  products: [.library(name: "Bookshop", targets: ["Bookshop"])],
  dependencies: [.package(path: "../..")],
  targets: [
    // This schema has its own module `Models`; the SDK's is renamed for this package.
    .target(name: "Models"),
    .target(
      name: "Bookshop",
      dependencies: [
        "Models",
        .product(name: "MomentsSDK", package: sdk, moduleAliases: ["Models": "MomentsModels"]),
      ]),
    .testTarget(
      name: "BookshopTests",
      dependencies: [
        "Bookshop", "Models",
        .product(name: "GraphQLSchema", package: sdk),
        .product(name: "GraphQLTesting", package: sdk),
        .product(name: "NetworkingTesting", package: sdk),
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
