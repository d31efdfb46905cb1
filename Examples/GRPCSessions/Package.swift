// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "GRPCSessions",
  products: [
    .library(name: "GRPCSessions", targets: ["GRPCSessions", "MomentsService"]),
    .library(name: "GRPCOverHTTP2", targets: ["GRPCOverHTTP2", "MomentsService"]),
  ],
  dependencies: [
    .package(name: "MomentsSDK", path: "../.."),
    .package(name: "Moments", path: "../../Moments"),
    .package(url: "https://github.com/grpc/grpc-swift-2.git", exact: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport.git", exact: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf.git", exact: "2.4.1"),
    .package(url: "https://github.com/apple/swift-protobuf.git", exact: "1.39.0"),
  ],
  targets: [
    // What both ways have in common.
    .target(
      name: "MomentsService",
      dependencies: [
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ]),
    .target(
      name: "GRPCSessions",
      dependencies: [
        "MomentsService",
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ]),
    .target(
      name: "GRPCOverHTTP2",
      dependencies: [
        "MomentsService",
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ]),
    .testTarget(
      name: "GRPCSessionsTests",
      dependencies: [
        "GRPCOverHTTP2", "GRPCSessions", "MomentsService",
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
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
