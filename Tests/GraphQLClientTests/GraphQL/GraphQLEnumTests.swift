import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct GraphQLEnumTests {
  private enum Genre: String, Sendable {
    case novel = "NOVEL"
    case poetry = "POETRY"
  }

  private struct Books: GraphQLSession {
    struct Variables: Encodable, Sendable {
      var genre: GraphQLEnum<Genre>
    }
    struct ResponseData: Decodable, Sendable {
      let genres: [GraphQLEnum<Genre>]
    }
    static let query: GraphQLDocument = "query books($genre: Genre!) { genres(like: $genre) }"
    var variables: Variables
  }

  /// Reads and writes by both ways: of types that do so themselves, and of `Codable` ones.
  private struct Both: Codable, JSONDecodable, JSONEncodable {
    var genres: [GraphQLEnum<Genre>]

    init(from json: inout JSONReader) throws(JSONError) { genres = try json.readMember("genres") }

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      json.write("genres", genres)
      json.endObject()
    }
  }

  @Test func `G6: a value that a client does not know fails nothing, and those that it knows are known`() async throws {
    let transport = ScriptedTransport(always: .json(#"{"data": {"genres": ["POETRY", "OPERA", "novel", ""]}}"#))
    let data = try await Books(variables: .init(genre: .known(.novel))).data(on: client(transport)).value
    #expect(data.genres == [.known(.poetry), .unknown("OPERA"), .unknown("novel"), .unknown("")])
    #expect(data.genres.map(\.value) == [.poetry, nil, nil, nil])
    #expect(transport.onlyRequest?.bodyJSON?["variables"]?["genre"] == "NOVEL")
  }

  @Test func `G6: an unknown value is written back as it came, by every coder`() throws {
    let json = Data(#"{"genres":["NOVEL","早\"\\"]}"#.utf8)
    let coders: [any BodyDecoder & BodyEncoder] = [JSONCoder(), FoundationJSON()]
    for coder in coders {
      let both = try coder.decode(Both.self, from: json)
      #expect(both.genres == [.known(.novel), .unknown("早\"\\")])
      #expect(try coder.encode(both) == json)
    }
  }

  @Test func `a value compares and matches as plainly as the enum`() {
    let (genre, other) = (GraphQLEnum<Genre>.known(.poetry), GraphQLEnum<Genre>.unknown("OPERA"))
    #expect(genre == .poetry)
    #expect(genre != .novel)
    #expect(Genre.poetry == genre)
    #expect(Genre.novel != genre)
    #expect(other != .poetry)
    #expect(!(other == .novel))
    func name(_ genre: GraphQLEnum<Genre>) -> String {
      switch genre.value {
      case .novel: "novel"
      case .poetry: "poetry"
      case nil: genre.rawValue
      }
    }
    #expect([genre, other].map(name) == ["poetry", "OPERA"])
  }

  @Test func `values of equal spelling are equal, however they were made`() {
    #expect(GraphQLEnum<Genre>.unknown("NOVEL") == .known(.novel))
    #expect(Set<GraphQLEnum<Genre>>([.unknown("NOVEL"), .known(.novel), .init(rawValue: "NOVEL")]).count == 1)
    #expect(GraphQLEnum<Genre>.known(.novel) != .known(.poetry))
  }

  @Test(arguments: ["7", "null", "{}"])
  func `G7: a value that is no text is an error that names its path`(value: String) async throws {
    let transport = ScriptedTransport(always: .json("{\"data\": {\"genres\": [\"NOVEL\", \(value)]}}"))
    let error = await Books(variables: .init(genre: .known(.novel))).data(on: try client(transport)).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.message.contains("data.genres[1]") == true)
  }
}
