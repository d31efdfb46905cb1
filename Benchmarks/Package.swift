// swift-tools-version: 6.3

import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "MomentsSDK", path: ".."),
    .package(name: "Moments", path: "../Moments"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
    // Needs SQLite's headers: libsqlite3-dev on Debian.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
    .package(url: "https://github.com/swift-server/async-http-client.git", .upToNextMinor(from: "1.37.0")),
  ],
  targets: [
    .target(name: "CAllocations"),
    .target(name: "Measuring"),
    .executableTarget(
      name: "StreamsBenchmarks",
      dependencies: [
        "CAllocations",
        "Measuring",
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "JSONBenchmarks",
      dependencies: [
        "CAllocations",
        "Measuring",
        .product(name: "Moments", package: "Moments"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "SchemaBenchmarks",
      dependencies: [
        "Measuring",
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLLanguage", package: "MomentsSDK"),
        .product(name: "GraphQLSchema", package: "MomentsSDK"),
        .product(name: "GraphQLTesting", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "GenerateBenchmarks",
      dependencies: [
        "Measuring",
        .product(name: "Moments", package: "Moments"),
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      exclude: ["Operations", "graphql.json", "schema.graphql"],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .target(
      name: "BenchmarkSupport",
      dependencies: [
        "Measuring",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "ClientBenchmarks",
      dependencies: [
        "BenchmarkSupport",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "LiveBenchmarks",
      dependencies: [
        "BenchmarkSupport",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      exclude: ["client.py", "server.py"],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "ObserverBenchmarks",
      dependencies: [
        "CAllocations",
        "Measuring",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "StoresBenchmarks",
      dependencies: [
        "CAllocations", "Measuring",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "NormalizedBenchmarks",
      dependencies: [
        "CAllocations", "Measuring",
        .product(name: "GraphQLClient", package: "MomentsSDK"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "StrictJSON", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "TransportBenchmarks",
      dependencies: [
        "BenchmarkSupport",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "SocketHTTP", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
        .product(name: "URLSessionHTTP", package: "MomentsSDK"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "WireBenchmarks",
      dependencies: [
        "Measuring",
        .product(name: "Moments", package: "Moments"),
        .product(name: "HTTPClientCore", package: "MomentsSDK"),
        .product(name: "HTTPMiddlewares", package: "MomentsSDK"),
        .product(name: "Stores", package: "MomentsSDK"),
        .product(name: "Streams", package: "MomentsSDK"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
  ]
)
