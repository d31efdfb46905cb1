// swift-tools-version: 6.3

import PackageDescription

let applePlatforms: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]

let package = Package(
  name: "MomentsSDK",
  products: [
    .library(name: "Platform", targets: ["Platform"]),
    .library(name: "Streams", targets: ["Streams"]),
    .library(name: "StreamsTesting", targets: ["StreamsTesting"]),
    .library(name: "HTTP", targets: ["HTTP"]),
    .library(name: "HTTPMiddlewares", targets: ["HTTPMiddlewares"]),
    .library(name: "SocketHTTP", targets: ["SocketHTTP"]),
    .library(name: "URLSessionHTTP", targets: ["URLSessionHTTP"]),
    .library(name: "JSON", targets: ["JSON"]),
    .library(name: "GraphQLLanguage", targets: ["GraphQLLanguage"]),
    .library(name: "GraphQLSchema", targets: ["GraphQLSchema"]),
    .library(name: "GraphQLTesting", targets: ["GraphQLTesting"]),
    .library(name: "Models", targets: ["Models"]),
    .library(name: "Networking", targets: ["Networking"]),
    .library(name: "Repository", targets: ["Repository"]),
    .library(name: "StoreConformance", targets: ["StoreConformance"]),
    .library(name: "NetworkingTesting", targets: ["NetworkingTesting"]),
    .library(name: "TransportConformance", targets: ["TransportConformance"]),
    .library(
      name: "MomentsSDK", targets: ["Streams", "JSON", "HTTP", "HTTPMiddlewares", "Models", "Networking", "Repository"]),
    .executable(name: "moments", targets: ["moments"]),
    .executable(name: "graphql", targets: ["graphql"]),
  ],
  traits: [
    .trait(
      name: "SocketHTTP",
      description: "The transport on sockets is the default of a client on Linux. Without it, pass a transport."),
    .trait(
      name: "URLSession",
      description: "The command moments has --transport urlsession, and links all of Foundation, and libcurl."),
    .default(enabledTraits: ["SocketHTTP"]),
  ],
  targets: [
    .target(name: "CLinux"),
    // The part of Foundation that the SDK is built on: small programs link no more of it.
    .target(name: "Platform", dependencies: ["CLinux"]),
    .target(name: "Streams", dependencies: ["Platform"]),
    .target(name: "StreamsTesting", dependencies: ["Streams"]),
    .target(name: "HTTP", dependencies: ["Platform", "Streams"]),
    .target(name: "HTTPMiddlewares", dependencies: ["HTTP", "Platform", "Streams"]),
    .target(name: "SocketHTTP", dependencies: ["CLinux", "HTTP", "Platform", "Streams"]),
    // A target of its own, since FoundationNetworking needs libcurl, and even more to be linked statically.
    .target(name: "URLSessionHTTP", dependencies: ["HTTP", "Streams"]),
    .target(name: "JSON", dependencies: ["Platform"]),
    .target(name: "GraphQLLanguage"),
    .target(name: "GraphQLSchema", dependencies: ["GraphQLLanguage", "JSON"]),
    .target(name: "Models", dependencies: ["JSON", "Platform"]),
    .target(
      name: "Networking",
      dependencies: [
        "Streams", "GraphQLLanguage", "HTTP", "HTTPMiddlewares", "JSON", "Models", "Platform",
        .target(name: "SocketHTTP", condition: .when(platforms: [.linux], traits: ["SocketHTTP"])),
        .target(name: "URLSessionHTTP", condition: .when(platforms: applePlatforms)),
      ]),
    .target(
      name: "Repository",
      dependencies: ["Streams", "HTTP", "HTTPMiddlewares", "JSON", "Models", "Networking", "Platform"]),
    .target(name: "StoreConformance", dependencies: ["Platform", "Repository", "Streams"]),
    .target(
      name: "GraphQLTesting",
      dependencies: ["GraphQLLanguage", "GraphQLSchema", "HTTP", "JSON", "Networking", "Platform", "Streams"]),
    .target(
      name: "NetworkingTesting",
      dependencies: ["Streams", "GraphQLLanguage", "HTTP", "JSON", "Networking", "Platform"]),
    .target(name: "LoopbackServers", dependencies: ["Platform"]),
    .target(name: "TransportConformance", dependencies: ["HTTP", "LoopbackServers", "Platform", "Streams"]),
    .executableTarget(
      name: "moments",
      dependencies: [
        "Streams", "HTTP", "HTTPMiddlewares", "Models", "Networking", "Platform", "Repository", "SocketHTTP",
        .target(name: "URLSessionHTTP", condition: .when(traits: ["URLSession"])),
      ], exclude: ["README.md"]),
    .executableTarget(
      name: "graphql",
      dependencies: [
        "GraphQLLanguage", "GraphQLSchema", "HTTP", "JSON", "Networking", "Platform", "SocketHTTP", "Streams",
        .target(name: "URLSessionHTTP", condition: .when(platforms: applePlatforms)),
      ],
      exclude: ["README.md"]),

    .target(name: "TestSupport", dependencies: ["LoopbackServers"], path: "Tests/TestSupport"),
    .target(name: "HTTPTestSupport", dependencies: ["HTTP", "Streams"], path: "Tests/HTTPTestSupport"),
    .target(name: "BFFOperations", dependencies: ["Networking"], path: "Tests/BFFOperations"),
    .executableTarget(
      name: "soak",
      dependencies: [
        "BFFOperations", "HTTP", "HTTPMiddlewares", "Networking", "SocketHTTP", "Streams", "TestSupport",
      ], path: "Tests/Soak",
      exclude: ["crowd.py", "proxy.py"]),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "Streams", "TestSupport"]),
    .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"]),
    .testTarget(name: "StreamsTests", dependencies: ["Platform", "Streams", "StreamsTesting", "TestSupport"]),
    .testTarget(name: "StreamsTestingTests", dependencies: ["Streams", "StreamsTesting"]),
    .testTarget(
      name: "HTTPTests",
      dependencies: [
        "HTTP", "HTTPTestSupport", "NetworkingTesting", "SocketHTTP", "Streams", "StreamsTesting", "TestSupport",
        "TransportConformance",
      ]),
    .testTarget(
      name: "HTTPMiddlewaresTests",
      dependencies: [
        "HTTP", "HTTPTestSupport", "HTTPMiddlewares", "NetworkingTesting", "Platform", "SocketHTTP", "Streams",
        "StreamsTesting", "TestSupport",
      ]),
    .testTarget(
      name: "SocketHTTPTests",
      dependencies: [
        "HTTP", "HTTPTestSupport", "HTTPMiddlewares", "LoopbackServers", "NetworkingTesting", "Platform", "SocketHTTP",
        "Streams", "StreamsTesting", "TestSupport", "TransportConformance",
      ], exclude: ["WebSocket/server.py"]),
    .testTarget(
      name: "URLSessionHTTPTests",
      dependencies: ["HTTP", "Streams", "TestSupport", "TransportConformance", "URLSessionHTTP"]),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"]),
    .testTarget(name: "GraphQLLanguageTests", dependencies: ["GraphQLLanguage", "TestSupport"]),
    .testTarget(
      name: "GraphQLSchemaTests", dependencies: ["GraphQLLanguage", "GraphQLSchema", "JSON", "TestSupport"],
      exclude: ["Corpus", "Oracle"]),
    .testTarget(
      name: "GraphQLTestingTests",
      dependencies: [
        "BFFOperations", "GraphQLLanguage", "GraphQLSchema", "GraphQLTesting", "HTTP", "JSON", "Models", "Networking",
        "Repository", "Streams", "TestSupport",
      ]),
    .testTarget(
      name: "GraphQLCommandTests", dependencies: ["graphql", "JSON", "Networking", "TestSupport"]),
    .testTarget(name: "ModelsTests", dependencies: ["JSON", "Models"]),
    .testTarget(
      name: "NetworkingTests",
      dependencies: [
        "BFFOperations", "HTTP", "HTTPMiddlewares", "SocketHTTP", "JSON", "Models", "Networking", "NetworkingTesting",
        "Streams", "StreamsTesting", "TestSupport",
      ], exclude: ["Live/flood.py", "Live/pings.py"]),
    .executableTarget(
      name: "DiskWriter", dependencies: ["HTTP", "Networking", "Repository", "Streams"], path: "Tests/DiskWriter"),
    .testTarget(
      name: "RepositoryTests",
      dependencies: [
        "BFFOperations", "DiskWriter", "HTTP", "HTTPMiddlewares", "JSON", "Models", "Networking", "NetworkingTesting",
        "Repository", "StoreConformance", "Streams", "StreamsTesting", "TestSupport",
      ]),
    .testTarget(
      name: "ReadmeTests",
      dependencies: [
        "GraphQLLanguage", "GraphQLSchema", "GraphQLTesting", "HTTP", "HTTPMiddlewares", "SocketHTTP", "JSON", "Models",
        "Networking", "NetworkingTesting", "Repository",
        "Streams", "TestSupport",
      ]),
    .testTarget(
      name: "MomentsCommandTests",
      dependencies: [
        "moments", "GraphQLSchema", "GraphQLTesting", "HTTP", "HTTPMiddlewares", "SocketHTTP", "JSON", "Models",
        "Networking", "Repository", "Streams", "StreamsTesting", "TestSupport",
        .target(name: "URLSessionHTTP", condition: .when(traits: ["URLSession"])),
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
}
