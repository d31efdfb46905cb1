// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "Observability",
  products: [.library(name: "Observability", targets: ["Observability"])],
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "Moments", path: "../../Moments"),
    .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", exact: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", exact: "2.13.0"),
  ],
  targets: [
    .target(
      name: "Observability",
      dependencies: [
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "ObservabilityTests",
      dependencies: [
        "Observability",
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
