import GeneratedMoments
import GraphQLClient
import Streams
import Testing

// The article's samples, word for word, so that they compile; `ArticleTests` holds the two together.

func titles(of text: String, with sessions: any SearchSessionType) async throws -> [String] {
  try await sessions.search(text: text).value.search.map { result in
    switch result.kind {
    case .moment(let moment): moment.title ?? "untitled"
    case .userDetails(let user): user.name
    case .other(let type): type
    }
  }
}

enum ArticleSamples {
  static func sessions(_ client: APIClient) -> any SearchSessionType {
    let sessions = SearchSession(client: client)
    return sessions
  }

  static func mocked() async throws {
    let sessions = SearchSession { request in
      #expect(request.variables.text == "tea")
      return .just(.init(data: .init(search: [.init(kind: .userDetails(.init(id: "1", name: "Wei")))])))
    }
    #expect(try await titles(of: "tea", with: sessions) == ["Wei"])
  }
}
