// swift-tools-version: 6.3

import PackageDescription

let sdk: [Target.Dependency] = ["MomentsSDK", "GraphQLSchema", "GraphQLTesting", "SystemBase"]
  .map { .product(name: $0, package: "MomentsSDK") }

let package = Package(
  name: "starter",
  dependencies: [.package(name: "MomentsSDK", path: "../..")],
  targets: [
    .executableTarget(
      name: "starter", dependencies: sdk, path: "Sources", exclude: ["Operations", "schema.graphql"]),
    .testTarget(
      name: "starterTests",
      dependencies: sdk + [
        "starter",
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "StreamsTesting", package: "MomentsSDK"),
      ],
      path: "Tests", exclude: ["list.json"]),
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
