import Foundation
import Models
import Testing

@Suite struct MomentsDetailsTests {
  @Test func `a timeline is read with all its fields`() throws {
    #expect(try MomentsDetails(json: Fixture.json) == Fixture.details)
  }

  @Test func `a value that was read is written, and read back as the same`() throws {
    let data = try JSONEncoder().encode(Fixture.details)
    #expect(try JSONDecoder().decode(MomentsDetails.self, from: data) == Fixture.details)
  }

  @Test func `likes that the query left out are absent, empty ones are not`() throws {
    let details = try MomentsDetails(json: Fixture.json.replacing(#"[{"id": "0", "avatar": "a.png"}]"#, with: "[]"))
    #expect(details.moments[0].likes == [])
    #expect(details.moments[0].isLiked == true)
    #expect(details.moments[1].likes == nil)
    #expect(details.moments[1].isLiked == nil)
  }

  @Test func `null is read as absent where there may be nothing`() throws {
    let json = Fixture.json.replacing("\"isLiked\": true", with: "\"isLiked\": null")
      .replacing("\"早安 🌅\"", with: "null")
    let moment = try MomentsDetails(json: json).moments[0]
    #expect(moment.isLiked == nil)
    #expect(moment.title == nil)
    #expect(moment.url == nil)
  }

  @Test func `an empty title is not an absent one`() throws {
    #expect(try MomentsDetails(json: Fixture.json).moments[1].title == "")
  }

  @Test func `G6: fields and type names that are not known are passed over`() throws {
    let json = Fixture.json.replacing(
      "\"moments\":", with: "\"__typename\": \"MomentsDetails\", \"new\": {\"a\": [1, null]}, \"moments\":")
    #expect(try MomentsDetails(json: json) == Fixture.details)
  }

  @Test(arguments: [
    ("\"name\": \"Wei\", ", "", "userDetails.name"),
    ("\"backgroundImage\": \"b.jpg\"", "\"backgroundImage\": null", "userDetails.backgroundImage"),
    ("\"avatar\": \"d.png\"", "\"avatar\": 7", "moments.1.userDetails.avatar"),
    ("\"id\": \"m0-1\", ", "", "moments.1.id"),
    ("\"photos\": []", "\"photos\": null", "moments.1.photos"),
    ("\"2.jpg\"", "2", "moments.0.photos.1"),
    ("\"createdDate\": \"1605520760\"", "\"createdDate\": 1605520760", "moments.1.createdDate"),
    ("\"isLiked\": true", "\"isLiked\": \"true\"", "moments.0.isLiked"),
    ("{\"id\": \"0\", \"avatar\": \"a.png\"}", "{\"id\": \"0\"}", "moments.0.likes.0.avatar"),
    ("\"title\": \"\"", "\"title\": false", "moments.1.title"),
    ("\"moments\": [", "\"others\": [", "moments"),
  ])
  func `G7: a field that is missing or of another type is an error that names the path`(
    old: String, new: String, path: String
  ) throws {
    try #require(Fixture.json.contains(old))
    let error = #expect(throws: DecodingError.self) { try MomentsDetails(json: Fixture.json.replacing(old, with: new)) }
    #expect(error?.pathText == path)
  }

  @Test func `absent fields stay absent when written`() throws {
    let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(Fixture.details)) as? [String: Any]
    let moments = object?["moments"] as? [[String: Any]]
    #expect(moments?[1]["likes"] == nil)
    #expect(moments?[1]["isLiked"] == nil)
    #expect(moments?[0]["isLiked"] as? Bool == true)
  }

  @Test func `owner, moment and liker all read ids that are numbers`() throws {
    let json = Fixture.json.replacing("\"m0-0\"", with: "12").replacing("\"0\"", with: "34")
    let details = try MomentsDetails(json: json)
    #expect(details.userDetails.id == "34")
    #expect(details.moments.first?.id == "12")
    #expect(details.moments.first?.likes?.first?.id == "34")
  }
}
