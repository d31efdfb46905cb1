// swift-tools-version: 6.3

import PackageDescription

// The domain as products, for packages that show or serve Moments. The SDK's own manifest has none of these modules in
// its products, so that a package with another schema may have targets of the same names. The sources are the same:
// `Sources` is a link to those of the SDK.
let package = Package(
  name: "Moments",
  products: [.library(name: "Moments", targets: ["Models", "Networking", "Repository"])],
  dependencies: [.package(name: "MomentsSDK", path: "..")],
  targets: [
    .target(
      name: "Models",
      dependencies: [
        .product(name: "GraphQLValues", package: "MomentsSDK"), .product(name: "StrictJSON", package: "MomentsSDK"),
      ]),
    .target(
      name: "Networking",
      dependencies: [
        "Models",
        .product(name: "GraphQLClient", package: "MomentsSDK"), .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"), .product(name: "StrictJSON", package: "MomentsSDK"),
      ]),
    .target(
      name: "Repository",
      dependencies: [
        "Models", "Networking",
        .product(name: "GraphQLClient", package: "MomentsSDK"), .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"), .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"), .product(name: "SystemBase", package: "MomentsSDK"),
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
}
