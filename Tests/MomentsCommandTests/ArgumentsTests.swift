import CommandLineBase
import Foundation
import HTTPClientCore
import Repository
import Testing

@testable import moments

struct ArgumentsTests {
  @Test func `no arguments ask for the timeline of user 0 from the embedded backend`() throws {
    let arguments = try Arguments([])
    #expect(arguments == Arguments())
    #expect(arguments.action == .timeline)
    #expect(arguments.userID == "0")
    #expect(arguments.endpoint == nil)
    #expect(arguments.showsLikes)
    #expect(!arguments.showsJSON)
    #expect(!arguments.isVerbose)
  }

  @Test func `every option is read, before and after the command`() throws {
    let arguments = try Arguments([
      "--user", "7", "timeline", "--endpoint", "https://api.example.com/graphql", "--json", "--no-likes",
      "--timeout", "2.5", "--header", "X-A: 1", "--header", "X-B: 2", "--verbose",
    ])
    #expect(arguments.action == .timeline)
    #expect(arguments.userID == "7")
    #expect(arguments.endpoint?.url.absoluteString == "https://api.example.com/graphql")
    #expect(arguments.timeout == .milliseconds(2500))
    #expect(arguments.headers.map(\.name) == ["X-A", "X-B"])
    #expect(arguments.headers.map(\.value) == ["1", "2"])
    #expect(arguments.showsJSON)
    #expect(!arguments.showsLikes)
    #expect(arguments.isVerbose)
  }

  @Test func `a value may follow an equals sign, and hold one itself`() throws {
    let arguments = try Arguments(["--user=a=b", "--header=X-Query: a=b", "--timeout=.5"])
    #expect(arguments.userID == "a=b")
    #expect(arguments.headers.first?.value == "a=b")
    #expect(arguments.timeout == .milliseconds(500))
  }

  @Test func `a photo is named by its path, and may have a title`() throws {
    let arguments = try Arguments(["post-photo", "--title=a=b", "--", "--odd.jpg"])
    #expect(arguments.action == .postPhoto(path: "--odd.jpg"))
    #expect(arguments.title == "a=b")
    #expect(try Arguments(["post-photo", "a"]).title == nil)
  }

  @Test(arguments: ["m0-1", "/?&#", "赞 👍", "a b", "-", "m=1"])
  func `like and unlike take any text as an id`(id: String) throws {
    #expect(try Arguments(["like", id]).action == .updateLike(true, momentID: id))
    #expect(try Arguments(["unlike", id, "--user", "3"]).action == .updateLike(false, momentID: id))
  }

  @Test func `the cache and the outbox have commands, which need a folder`() throws {
    let commands: KeyValuePairs<[String], Arguments.Action> = [
      ["cache", "stats"]: .cacheStatistics, ["cache", "clear"]: .clearCache, ["outbox", "list"]: .listOutbox,
      ["outbox", "flush"]: .flushOutbox, ["outbox", "discard", "x"]: .discard(id: "x"),
      ["outbox", "retry", "x"]: .retry(id: "x"),
    ]
    for (words, action) in commands {
      let arguments = try Arguments(words + ["--cache-dir", "/tmp/x"])
      #expect(arguments.action == action)
      #expect(arguments.cacheFolder?.path == "/tmp/x")
      let error = #expect(throws: UsageError.self) { try Arguments(words) }
      #expect(error?.message.hasPrefix("'\(words[0])' needs --cache-dir") == true)
    }
  }

  @Test func `the policy is the one given; else it depends on whether there is a cache`() throws {
    #expect(try Arguments([]).policy == .networkOnly)
    #expect(try Arguments(["--cache-dir", "x"]).policy == .networkFirst)
    for policy in FetchPolicy.allCases where policy != .staleWhileRevalidate {
      #expect(try Arguments(["--policy", policy.rawValue]).policy == policy)
      #expect(try Arguments(["--cache-dir=x", "--policy=\(policy.rawValue)"]).policy == policy)
    }
  }

  @Test func `two dashes end the options`() throws {
    #expect(try Arguments(["like", "--", "--json"]).action == .updateLike(true, momentID: "--json"))
    #expect(try Arguments(["--json", "--", "like", "-5"]).action == .updateLike(true, momentID: "-5"))
    #expect(try Arguments(["--", "timeline"]).action == .timeline)
    #expect(try Arguments(["--", "like", "--"]).action == .updateLike(true, momentID: "--"))
  }

  @Test func `help and version win over what follows them`() throws {
    #expect(try Arguments(["--help", "--nonsense"]).action == .help)
    #expect(try Arguments(["like", "--help"]).action == .help)
    #expect(try Arguments(["--version"]).action == .version)
    #expect(try Arguments(["--help"], environment: ["MOMENTS_ENDPOINT": "nonsense"]).action == .help)
  }

  @Test(arguments: [
    (["--bogus"], "there is no option '--bogus'"),
    (["--bogus=secret"], "there is no option '--bogus'"),
    (["-x"], "there is no option '-x'"),
    (["-HX-Api-Key: secret"], "there is no option '-H'"),
    (["-x"], "there is no option '-x'"),
    (["--User", "1"], "there is no option '--User'"),
    (["--user"], "--user has no value"),
    (["--user", "--json"], "--user has no value"),
    (["--user", "--"], "--user has no value"),
    (["--user="], "--user is empty"),
    (["--user", ""], "--user is empty"),
    (["--user", "1", "--user", "2"], "--user is given twice"),
    (["--timeout", "1", "--timeout=1"], "--timeout is given twice"),
    (["--endpoint=https://a/", "--endpoint=https://b/"], "--endpoint is given twice"),
    (["--policy", "never"], "--policy is 'never'; it is one of cacheFirst, networkFirst, "),
    (["--policy", "staleWhileRevalidate"], "--policy is 'staleWhileRevalidate'; it is one of "),
    (["--cache-dir="], "--cache-dir is empty"),
    (["cache", "--cache-dir", "x"], "'cache' needs one word: stats or clear"),
    (["outbox", "sell", "--cache-dir", "x"], "'outbox' needs one word: list or flush or discard or retry"),
    (["outbox", "discard", "--cache-dir", "x"], "'outbox discard' needs one id"),
    (["outbox", "discard", "a", "b", "--cache-dir", "x"], "'outbox discard' needs one id"),
    (["--json=yes"], "--json takes no value"),
    (["--help="], "--help takes no value"),
    (["publish"], "there is no command 'publish'"),
    ([""], "there is no command ''"),
    (["timeline", "7"], "'timeline' takes no argument, yet there is '7'"),
    (["like"], "'like' needs the id of a moment"),
    (["unlike", ""], "'unlike' needs the id of a moment"),
    (["like", "a", "b"], "'like' takes one moment, yet there is also 'b'"),
    (["post-photo"], "'post-photo' needs a file"),
    (["post-photo", "-"], "'post-photo' takes a file; standard input cannot be sent"),
    (["post-photo", "a", "b"], "'post-photo' takes one file, yet there is also 'b'"),
    (["post-photo", "a", "--transport", "urlsession"], "'post-photo' does not go with --transport urlsession"),
    (["like", "a", "--title", "b"], "--title goes with 'post-photo' only"),
  ])
  func `wrong usage says what is wrong`(arguments: [String], message: String) throws {
    let error = try #require(throws: UsageError.self) { try Arguments(arguments) }
    #expect(error.message.hasPrefix(message))
    #expect(!error.message.contains("secret"))
  }

  @Test(arguments: ["Content-Length: 3", "transfer-encoding: chunked", "Connection: close", "TE: gzip"])
  func `a header that frames the message is wrong usage`(header: String) throws {
    let error = try #require(throws: UsageError.self) {
      try Arguments(["--header", header, "--endpoint", "https://example.com/"])
    }
    #expect(error.message.hasPrefix("--header: "))
    #expect(error.message.contains("the transport's to set"))
  }

  @Test func `a home folder that the shell has left alone is the environment's, and another name is a name`() throws {
    let environment = ["HOME": "/elsewhere"]
    let here = FileManager.default.currentDirectoryPath
    for (value, path) in [
      ("~/x", "/elsewhere/x"), ("~", "/elsewhere"), ("~root/x", "\(here)/~root/x"), ("/a/~", "/a/~"),
      ("x", "\(here)/x"),
    ] {
      #expect(try Arguments(["--cache-dir=\(value)"], environment: environment).cacheFolder?.path == path)
    }
    #expect(throws: UsageError.self) { try Arguments(["--cache-dir=~/x"]) }
    let error = #expect(throws: UsageError.self) { try Arguments(["--ca=~/no.pem"], environment: environment) }
    #expect(error?.message.contains("'/elsewhere/no.pem'") == true)
  }

  @Test func `flags may be repeated`() throws {
    #expect(try Arguments(["--json", "--json"]).showsJSON)
  }

  @Test func `the environment names the endpoint unless an option does`() throws {
    let environment = ["MOMENTS_ENDPOINT": "http://localhost:1/graphql"]
    #expect(try Arguments([], environment: environment).endpoint?.url.port == 1)
    #expect(try Arguments(["--endpoint=http://localhost:2/"], environment: environment).endpoint?.url.port == 2)
    #expect(try Arguments([], environment: ["MOMENTS_ENDPOINT": ""]).endpoint == nil)
    let error = try #require(throws: UsageError.self) {
      try Arguments([], environment: ["MOMENTS_ENDPOINT": "ftp://example.com"])
    }
    #expect(error.message.hasPrefix("MOMENTS_ENDPOINT: "))
  }
}
