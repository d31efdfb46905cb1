// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "Feeds",
  products: [.library(name: "Feeds", targets: ["Feeds"])],
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    .target(
      name: "Feeds",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "FeedsTests",
      dependencies: [
        "Feeds",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
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
