// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "GraphQLClientObservability",
  products: [
    .library(name: "GraphQLClientLogging", targets: ["GraphQLClientLogging"]),
    .library(name: "GraphQLClientMetrics", targets: ["GraphQLClientMetrics"]),
    .library(name: "GraphQLClientTracing", targets: ["GraphQLClientTracing"]),
    .library(name: "GraphQLClientLifecycle", targets: ["GraphQLClientLifecycle"]),
    // For tests, and to see a trace without a collector.
    .library(name: "GraphQLClientSpanRecorder", targets: ["GraphQLClientSpanRecorder"]),
  ],
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "Moments", path: "../../Moments"),
    .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics.git", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", exact: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", exact: "2.13.0"),
  ],
  targets: [
    // What the products have in common: names of attributes, kinds of errors, limits.
    .target(
      name: "GraphQLClientConventions", dependencies: [.product(name: "HTTPClientCore", package: "MomentsSDK")]),
    // Each depends on one library alone.
    .target(
      name: "GraphQLClientLogging",
      dependencies: [
        "GraphQLClientConventions",
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "GraphQLClientMetrics",
      dependencies: [
        "GraphQLClientConventions",
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Metrics", package: "swift-metrics"),
      ]),
    .target(
      name: "GraphQLClientTracing",
      dependencies: [
        "GraphQLClientConventions",
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .target(
      name: "GraphQLClientLifecycle",
      dependencies: [
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .target(
      name: "GraphQLClientSpanRecorder",
      dependencies: [
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .target(
      name: "ObservabilityTestSupport",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ], path: "Tests/Support"),
    .testTarget(
      name: "GraphQLClientLoggingTests",
      dependencies: [
        "GraphQLClientLogging", "GraphQLClientSpanRecorder", "GraphQLClientTracing", "ObservabilityTestSupport",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "GraphQLClientMetricsTests",
      dependencies: [
        "GraphQLClientConventions", "GraphQLClientMetrics", "ObservabilityTestSupport",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
    .testTarget(
      name: "GraphQLClientTracingTests",
      dependencies: [
        "GraphQLClientSpanRecorder", "GraphQLClientTracing", "ObservabilityTestSupport",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .testTarget(
      name: "GraphQLClientLifecycleTests",
      dependencies: [
        "GraphQLClientLifecycle",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "ReadmeTests",
      dependencies: [
        "GraphQLClientLifecycle", "GraphQLClientLogging", "GraphQLClientMetrics", "GraphQLClientSpanRecorder",
        "GraphQLClientTracing", "ObservabilityTestSupport",
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "GraphQLClientTesting", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
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
