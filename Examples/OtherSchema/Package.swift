// swift-tools-version: 6.3

import PackageDescription

// A package whose modules have everyday names, which the SDK's modules leave to it.
let package = Package(
  name: "OtherSchema",
  products: [.library(name: "Bookshop", targets: ["Repository"])],
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    .target(
      name: "HTTP",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"), .product(name: "HTTPClientCore", package: "MomentsSDK"),
      ]),
    .target(name: "JSON"),
    .target(name: "Models"),
    .target(
      name: "Networking",
      dependencies: [
        "Models",
        .product(name: "GraphQLClient", package: "MomentsSDK"), .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ]),
    .target(
      name: "Repository",
      dependencies: [
        "Models", "Networking",
        .product(name: "GraphQLClient", package: "MomentsSDK"), .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "RepositoryTests",
      dependencies: [
        "HTTP", "JSON", "Models", "Networking", "Repository",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "GraphQLSchema", package: "MomentsSDK"),
        .product(name: "GraphQLTesting", package: "MomentsSDK"),
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
