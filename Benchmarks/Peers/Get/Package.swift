// swift-tools-version: 6.0

import PackageDescription

/// The smallest program on async-http-client, for the time that its first build takes.
let package = Package(
  name: "Get",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(url: "https://github.com/swift-server/async-http-client.git", .upToNextMinor(from: "1.37.0"))
  ],
  targets: [
    .executableTarget(name: "Get", dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")])
  ])
