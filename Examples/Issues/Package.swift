// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "Issues",
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
  ],
  targets: [
    // The sessions, without a word of the command line.
    .target(
      name: "GitHubIssues",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      exclude: ["graphql.json", "Operations"]),
    .executableTarget(
      name: "issues",
      dependencies: [
        "GitHubIssues",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ]),
    .testTarget(
      name: "IssuesTests",
      dependencies: [
        "GitHubIssues", "issues",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "GraphQLGeneration", package: "MomentsSDK"),
        .product(name: "GraphQLSchema", package: "MomentsSDK"),
        .product(name: "GraphQLTesting", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      exclude: ["Cassettes"]),
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
