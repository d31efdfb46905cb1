// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "GeneratedInBuild",
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    .target(
      name: "Bookshop",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      plugins: [.plugin(name: "GraphQLBuildTool", package: "MomentsSDK")]),
    .testTarget(
      name: "BookshopTests",
      dependencies: [
        "Bookshop",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLSchema", package: "MomentsSDK"),
        .product(name: "GraphQLTesting", package: "MomentsSDK"),
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
