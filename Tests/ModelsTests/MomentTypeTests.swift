import Foundation
import Models
import Testing

@Suite struct MomentTypeTests {
  private func roundTrip(_ type: MomentType) throws -> MomentType {
    try JSONDecoder().decode([MomentType].self, from: JSONEncoder().encode([type]))[0]
  }

  @Test func `known values are read by the server's spelling`() {
    #expect(MomentType(rawValue: "URL") == .url)
    #expect(MomentType(rawValue: "PHOTOS") == .photos)
    #expect(MomentType.url.rawValue == "URL")
    #expect(MomentType.photos.rawValue == "PHOTOS")
  }

  @Test(arguments: ["VIDEO", "url", "", "早安", "a\"b\\c\n"])
  func `G6: an unknown value is kept, and written back as it came`(text: String) throws {
    let type = MomentType(rawValue: text)
    #expect(type == .unknown(text))
    #expect(try roundTrip(type) == type)
    let json = try JSONEncoder().encode([text])
    #expect(try JSONEncoder().encode(JSONDecoder().decode([MomentType].self, from: json)) == json)
  }

  @Test func `G6: a timeline with an unknown value is read whole and written back the same`() throws {
    let details = try MomentsDetails(json: Fixture.json.replacing("\"PHOTOS\"", with: "\"HOLOGRAM\""))
    #expect(details.moments.map(\.type) == [.unknown("HOLOGRAM"), .url])
    let again = try JSONDecoder().decode(MomentsDetails.self, from: JSONEncoder().encode(details))
    #expect(again == details)
  }

  @Test func `values of equal spelling are equal, however they were made`() {
    #expect(MomentType.unknown("URL") == .url)
    #expect([MomentType.unknown("URL")] == [.url])
    #expect(Set([MomentType.unknown("URL"), .url]).count == 1)
    #expect(MomentType.url != .photos)
  }

  @Test(arguments: ["7", "null", "true", "{}", "[]"])
  func `a value that is no text is an error that names the path`(json: String) {
    let error = #expect(throws: DecodingError.self) {
      try MomentsDetails(json: Fixture.json.replacing("\"PHOTOS\"", with: json))
    }
    #expect(error?.pathText == "moments.0.type")
  }
}
