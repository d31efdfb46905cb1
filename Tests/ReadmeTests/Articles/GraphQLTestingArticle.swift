// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together, and runs them.

import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import StrictJSON
import Testing

enum GraphQLTestingArticle {
  static func check(sdl: String) throws {
    let check = SessionCheck(try Schema(parsing: sdl))
    #expect(check.findings(in: GetUser.self, variables: [.init(id: "0")]).isEmpty)
  }

  static func samples(_ schema: Schema) -> SessionCheck.Report {
    let samples: ScalarSamples = ["Money": ["12.50 EUR", "0 JPY"], "User.avatar": ["https://example.com/a.png"]]
    let check = SessionCheck(
      schema, samples: samples, coder: JSONCoder(dates: .lenientISO8601), suppress: ["data.user.nickname"])
    let report = check.report(on: GetUser.self, variables: [.init(id: "0")])
    report.unexplored.forEach { print($0) }
    return report
  }

  static func fixture(_ schema: Schema) throws -> User {
    let fixtures = Fixtures(schema)
    let user = try fixtures.data(for: GetUser.self, seed: 7, overrides: ["timeline.userDetails.name": "Wei"]).user
    return user
  }
}
