// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "TimelineServer",
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "Moments", path: "../../Moments"),
    .package(name: "GraphQLClientObservability", path: "../../Integrations/GraphQLClientObservability"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", exact: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", exact: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", exact: "1.7.3"),
    .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
  ],
  targets: [
    .executableTarget(
      name: "TimelineServer",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "GraphQLClientLifecycle", package: "GraphQLClientObservability"),
        .product(name: "GraphQLClientLogging", package: "GraphQLClientObservability"),
        .product(name: "GraphQLClientMetrics", package: "GraphQLClientObservability"),
        .product(name: "GraphQLClientTracing", package: "GraphQLClientObservability"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ], exclude: ["Operations", "graphql.json"],
      resources: ["page.html", "page.css", "page.js"].map { .embedInCode($0) }),
    // The same endpoint without the SDK, and a backend that costs nothing, for `measure`.
    .executableTarget(
      name: "ByHand",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
    .testTarget(
      name: "TimelineServerTests",
      dependencies: [
        "TimelineServer", "ByHand",
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "GraphQLClientTracing", package: "GraphQLClientObservability"),
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StreamsTesting", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ], exclude: ["deaf_browser.py", "plain_line.py"]),
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
