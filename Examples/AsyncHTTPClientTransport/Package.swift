// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "AsyncHTTPClientTransport",
  products: [.library(name: "AsyncHTTPClientTransport", targets: ["AsyncHTTPClientTransport"])],
  dependencies: [
    // Without the trait SocketHTTP: nothing is linked of the transport that this one replaces.
    .package(name: "MomentsSDK", path: "../..", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client.git", .upToNextMinor(from: "1.37.0")),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
  ],
  targets: [
    .target(
      name: "AsyncHTTPClientTransport",
      dependencies: [
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    .testTarget(
      name: "AsyncHTTPClientTransportTests",
      dependencies: [
        "AsyncHTTPClientTransport",
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "TransportConformance", package: "MomentsSDK"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
