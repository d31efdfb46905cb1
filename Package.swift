// swift-tools-version: 6.3

import PackageDescription

let applePlatforms: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]

let package = Package(
  name: "MomentsSDK",
  products: [
    .library(name: "SystemBase", targets: ["SystemBase"]),
    .library(name: "Streams", targets: ["Streams"]),
    .library(name: "StreamsTesting", targets: ["StreamsTesting"]),
    .library(name: "HTTPClientCore", targets: ["HTTPClientCore"]),
    .library(name: "HTTPMiddlewares", targets: ["HTTPMiddlewares"]),
    .library(name: "SocketHTTP", targets: ["SocketHTTP"]),
    .library(name: "URLSessionHTTP", targets: ["URLSessionHTTP"]),
    .library(name: "StrictJSON", targets: ["StrictJSON"]),
    .library(name: "GraphQLLanguage", targets: ["GraphQLLanguage"]),
    .library(name: "GraphQLSchema", targets: ["GraphQLSchema"]),
    .library(name: "GraphQLGeneration", targets: ["GraphQLGeneration"]),
    .library(name: "GraphQLTesting", targets: ["GraphQLTesting"]),
    .library(name: "GraphQLValues", targets: ["GraphQLValues"]),
    .library(name: "GraphQLClient", targets: ["GraphQLClient"]),
    .library(name: "GraphQLClientTesting", targets: ["GraphQLClientTesting"]),
    .library(name: "Stores", targets: ["Stores"]),
    .library(name: "StoreConformance", targets: ["StoreConformance"]),
    .library(name: "TransportConformance", targets: ["TransportConformance"]),
    .library(
      name: "MomentsSDK",
      targets: ["Streams", "StrictJSON", "HTTPClientCore", "HTTPMiddlewares", "GraphQLClient", "Stores"]),
    .executable(name: "graphql", targets: ["graphql"]),
    .plugin(name: "GenerateGraphQL", targets: ["GenerateGraphQL"]),
    .plugin(name: "GraphQLBuildTool", targets: ["GraphQLBuildTool"]),
    // No product reaches the modules of Moments, since SwiftPM would refuse a package whose targets have names of theirs:
    // `Models`, `Networking`, `Repository`. The package in `Moments` has them as products.
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
    .target(name: "SystemBase", dependencies: ["CLinux"]),
    .target(name: "Streams", dependencies: ["SystemBase"]),
    .target(name: "StreamsTesting", dependencies: ["SystemBase", "Streams"]),
    .target(name: "HTTPClientCore", dependencies: ["SystemBase", "Streams"]),
    .target(name: "HTTPMiddlewares", dependencies: ["HTTPClientCore", "SystemBase", "Streams"]),
    .target(name: "SocketHTTP", dependencies: ["CLinux", "HTTPClientCore", "SystemBase", "Streams"]),
    // A target of its own, since FoundationNetworking needs libcurl, and even more to be linked statically.
    .target(name: "URLSessionHTTP", dependencies: ["SystemBase", "HTTPClientCore", "Streams"]),
    .target(name: "StrictJSON", dependencies: ["SystemBase"]),
    .target(name: "GraphQLLanguage"),
    .target(name: "GraphQLSchema", dependencies: ["GraphQLLanguage", "StrictJSON"]),
    .target(name: "GraphQLGeneration", dependencies: ["GraphQLLanguage", "GraphQLSchema", "StrictJSON"]),
    .target(name: "GraphQLValues", dependencies: ["StrictJSON", "SystemBase"]),
    .target(
      name: "GraphQLClient",
      dependencies: [
        "Streams", "GraphQLLanguage", "GraphQLValues", "HTTPClientCore", "HTTPMiddlewares", "StrictJSON", "SystemBase",
        .target(name: "SocketHTTP", condition: .when(platforms: [.linux], traits: ["SocketHTTP"])),
        .target(name: "URLSessionHTTP", condition: .when(platforms: applePlatforms)),
      ]),
    .target(
      name: "Stores",
      dependencies: [
        "Streams", "GraphQLClient", "GraphQLLanguage", "HTTPClientCore", "HTTPMiddlewares", "StrictJSON", "SystemBase",
      ]),
    .target(name: "StoreConformance", dependencies: ["Stores", "Streams", "SystemBase"]),
    // The domain. These read only what is public, as the package in `Moments` builds them too.
    .target(name: "Models", dependencies: ["GraphQLValues", "StrictJSON"]),
    .target(name: "Networking", dependencies: ["GraphQLClient", "HTTPClientCore", "Models", "Streams", "StrictJSON"]),
    .target(
      name: "Repository",
      dependencies: [
        "GraphQLClient", "HTTPClientCore", "Models", "Networking", "Stores", "Streams", "StrictJSON", "SystemBase",
      ]),
    .target(
      name: "GraphQLTesting",
      dependencies: [
        "GraphQLClient", "GraphQLLanguage", "GraphQLSchema", "HTTPClientCore", "Streams", "StrictJSON", "SystemBase",
      ]),
    .target(
      name: "GraphQLClientTesting",
      dependencies: ["GraphQLClient", "GraphQLLanguage", "HTTPClientCore", "Streams", "StrictJSON", "SystemBase"]),
    .target(name: "LoopbackServers", dependencies: ["SystemBase"]),
    .target(
      name: "TransportConformance", dependencies: ["HTTPClientCore", "LoopbackServers", "SystemBase", "Streams"]),
    .target(name: "CommandLineBase", dependencies: ["SystemBase"]),
    .executableTarget(
      name: "moments",
      dependencies: [
        "CommandLineBase", "HTTPClientCore", "HTTPMiddlewares", "Models", "Networking", "Repository", "SocketHTTP",
        "Streams",
        "SystemBase",
        .target(name: "URLSessionHTTP", condition: .when(traits: ["URLSession"])),
      ], exclude: ["README.md"]),
    // What `graphql` shares with the tool of the plugins, which links nothing that sends requests: each package that uses
    // a plugin builds it.
    .target(
      name: "GraphQLCommandLine",
      dependencies: [
        "CommandLineBase", "GraphQLGeneration", "GraphQLLanguage", "GraphQLSchema", "GraphQLValues", "SystemBase",
      ]),
    .executableTarget(name: "graphql-generate", dependencies: ["CommandLineBase", "GraphQLCommandLine", "SystemBase"]),
    .executableTarget(
      name: "graphql",
      dependencies: [
        "CommandLineBase", "GraphQLClient", "GraphQLCommandLine", "GraphQLLanguage", "GraphQLSchema", "HTTPClientCore",
        "SocketHTTP", "Streams", "StrictJSON", "SystemBase",
        .target(name: "URLSessionHTTP", condition: .when(platforms: applePlatforms)),
      ],
      exclude: ["README.md"]),
    .plugin(
      name: "GenerateGraphQL",
      capability: .command(
        intent: .custom(verb: "generate-graphql", description: "Write the sessions of .graphql files"),
        permissions: [.writeToPackageDirectory(reason: "The sessions are written where graphql.json says")]),
      dependencies: ["graphql-generate"]),
    .plugin(name: "GraphQLBuildTool", capability: .buildTool(), dependencies: ["graphql-generate"]),

    .target(name: "TestSupport", dependencies: ["LoopbackServers"], path: "Tests/TestSupport"),
    .target(name: "HTTPTestSupport", dependencies: ["HTTPClientCore", "Streams"], path: "Tests/HTTPTestSupport"),
    .target(
      name: "GeneratedMoments", dependencies: ["GraphQLClient", "HTTPClientCore", "Streams", "StrictJSON"],
      path: "Tests/GeneratedMoments",
      exclude: ["graphql.json", "Operations"]),
    .target(
      name: "GeneratedShapes", dependencies: ["GraphQLClient", "HTTPClientCore", "Stores", "Streams", "StrictJSON"],
      path: "Tests/GeneratedShapes",
      exclude: ["graphql.json", "schema.graphql", "extra.graphqls", "manifest.json", "Operations"]),
    .target(name: "BFFOperations", dependencies: ["GraphQLClient", "Models"], path: "Tests/BFFOperations"),
    .executableTarget(
      name: "soak",
      dependencies: [
        "BFFOperations", "GraphQLClient", "HTTPClientCore", "HTTPMiddlewares", "SocketHTTP", "Streams", "TestSupport",
      ], path: "Tests/Soak",
      exclude: ["Peers"]),
    .testTarget(name: "SystemBaseTests", dependencies: ["SystemBase", "TestSupport"]),
    .testTarget(name: "CommandLineBaseTests", dependencies: ["CommandLineBase", "SystemBase"]),
    .target(name: "TestOrder", path: "Tests/TestOrder", publicHeadersPath: "."),
    .testTarget(name: "TestSupportTests", dependencies: ["TestOrder", "TestSupport"]),
    .testTarget(name: "StreamsTests", dependencies: ["Streams", "StreamsTesting", "SystemBase", "TestSupport"]),
    .testTarget(name: "StreamsTestingTests", dependencies: ["SystemBase", "Streams", "StreamsTesting"]),
    .testTarget(
      name: "HTTPClientCoreTests",
      dependencies: [
        "GraphQLClientTesting", "HTTPClientCore", "HTTPTestSupport", "SocketHTTP", "Streams", "SystemBase",
        "TestSupport",
        "TransportConformance",
      ]),
    .testTarget(
      name: "HTTPMiddlewaresTests",
      dependencies: [
        "GraphQLClientTesting", "HTTPClientCore", "HTTPMiddlewares", "HTTPTestSupport", "Streams", "StreamsTesting",
        "SystemBase", "TestSupport",
      ]),
    .testTarget(
      name: "SocketHTTPTests",
      dependencies: [
        "HTTPClientCore", "HTTPMiddlewares", "HTTPTestSupport", "LoopbackServers", "SocketHTTP", "Streams",
        "SystemBase", "TestSupport", "TransportConformance",
      ], exclude: ["HTTP2/gateway.py", "HTTP2/server.py", "WebSocket/server.py"]),
    .testTarget(
      name: "URLSessionHTTPTests",
      dependencies: ["HTTPClientCore", "Streams", "TestSupport", "TransportConformance", "URLSessionHTTP"]),
    .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON", "TestSupport"]),
    .testTarget(name: "GraphQLLanguageTests", dependencies: ["GraphQLLanguage", "TestSupport"]),
    .testTarget(
      name: "GraphQLSchemaTests", dependencies: ["GraphQLLanguage", "GraphQLSchema", "StrictJSON", "TestSupport"],
      exclude: ["Corpus", "Oracle"]),
    .testTarget(
      name: "GraphQLGenerationTests",
      dependencies: [
        "GeneratedMoments", "GeneratedShapes", "GraphQLClient", "GraphQLClientTestSupport", "GraphQLClientTesting",
        "GraphQLGeneration", "GraphQLLanguage", "GraphQLSchema", "GraphQLTesting", "HTTPClientCore", "HTTPTestSupport",
        "Models", "Networking", "Stores", "Streams", "StrictJSON", "SystemBase", "TestSupport",
      ]),
    .testTarget(
      name: "GraphQLTestingTests",
      dependencies: [
        "BFFOperations", "GraphQLClient", "GraphQLLanguage", "GraphQLSchema", "GraphQLTesting", "HTTPClientCore",
        "Models", "Networking", "Repository", "Streams", "StrictJSON", "TestSupport",
      ]),
    .testTarget(
      name: "GraphQLCommandTests",
      dependencies: [
        "graphql", "graphql-generate", "GraphQLClient", "GraphQLCommandLine", "StrictJSON", "TestSupport",
      ]),
    .target(
      name: "GraphQLClientTestSupport",
      dependencies: [
        "GraphQLClient", "GraphQLClientTesting", "HTTPClientCore", "HTTPTestSupport", "Streams", "StrictJSON",
      ], path: "Tests/GraphQLClientTestSupport"),
    .target(
      name: "StoresTestSupport",
      dependencies: ["SystemBase", "HTTPClientCore", "Stores", "Streams", "StrictJSON", "TestSupport"],
      path: "Tests/StoresTestSupport"),
    .testTarget(name: "GraphQLValuesTests", dependencies: ["GraphQLValues", "StrictJSON"]),
    .testTarget(
      name: "GraphQLClientTests",
      dependencies: [
        "SystemBase",
        "BFFOperations", "GraphQLClient", "GraphQLClientTesting", "GraphQLLanguage", "GraphQLClientTestSupport",
        "HTTPClientCore",
        "HTTPMiddlewares", "HTTPTestSupport", "Models", "Networking", "SocketHTTP", "Streams", "StreamsTesting",
        "StrictJSON", "TestSupport",
      ], exclude: ["Live/flood.py", "Live/pings.py"]),
    .testTarget(
      name: "StoresTests",
      dependencies: [
        "SystemBase",
        "BFFOperations", "DiskWriter", "GraphQLClient", "GraphQLClientTesting", "GraphQLLanguage", "HTTPClientCore",
        "HTTPMiddlewares", "StoreConformance", "Stores", "StoresTestSupport", "Streams", "StreamsTesting", "StrictJSON",
        "TestSupport",
      ]),
    .testTarget(name: "ModelsTests", dependencies: ["Models", "StrictJSON"]),
    .testTarget(
      name: "NetworkingTests",
      dependencies: [
        "SystemBase",
        "GraphQLClientTesting", "GraphQLClientTestSupport", "HTTPClientCore", "HTTPTestSupport", "Models", "Networking",
        "Streams", "StrictJSON", "TestSupport",
      ]),
    .executableTarget(
      name: "DiskWriter", dependencies: ["GraphQLClient", "HTTPClientCore", "Stores", "Streams"],
      path: "Tests/DiskWriter"),
    .testTarget(
      name: "RepositoryTests",
      dependencies: [
        "BFFOperations", "GraphQLClient", "GraphQLClientTesting", "HTTPClientCore", "Models", "Networking",
        "Repository", "Stores", "StoresTestSupport", "Streams", "StrictJSON", "TestSupport",
      ]),
    .testTarget(
      name: "ReadmeTests",
      dependencies: [
        "BFFOperations", "GeneratedMoments", "GraphQLClient", "GraphQLClientTesting", "GraphQLLanguage",
        "GraphQLSchema", "GraphQLTesting", "HTTPClientCore", "HTTPMiddlewares", "Models", "Networking", "Repository",
        "SocketHTTP", "Stores", "Streams", "StrictJSON", "TestSupport",
      ]),
    .testTarget(
      name: "MomentsCommandTests",
      dependencies: [
        "CommandLineBase", "SystemBase",
        "GraphQLSchema", "GraphQLTesting", "HTTPClientCore", "Models", "moments", "Networking", "Repository",
        "SocketHTTP", "Streams", "StreamsTesting", "StrictJSON", "TestSupport",
        .target(name: "URLSessionHTTP", condition: .when(traits: ["URLSession"])),
      ]),
  ]
)

for target in package.targets where target.type != .plugin {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
  // Generated with "nonisolated": true, which is for modules of this kind.
  if target.name == "GeneratedMoments" { target.swiftSettings?.append(.defaultIsolation(MainActor.self)) }
}
