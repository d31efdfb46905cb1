// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "RequestTrace",
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "GraphQLClientObservability", path: "../../Integrations/GraphQLClientObservability"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", exact: "2.28.1"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", exact: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log.git", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", exact: "2.37.6"),
  ],
  targets: [
    .executableTarget(
      name: "RequestTrace",
      dependencies: [
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "GraphQLClientTracing", package: "GraphQLClientObservability"),
        .product(name: "GraphQLClientSpanRecorder", package: "GraphQLClientObservability"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdTLS", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .testTarget(
      name: "RequestTraceTests",
      dependencies: [
        "RequestTrace",
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "GraphQLClientSpanRecorder", package: "GraphQLClientObservability"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
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
