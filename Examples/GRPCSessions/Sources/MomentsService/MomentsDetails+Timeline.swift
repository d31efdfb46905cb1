import HTTPClientCore
package import Models
import SwiftProtobuf

extension MomentsDetails {
  /// Reads a timeline; messages have defaults for what is missing, so what identifies something must not be empty.
  package init(_ timeline: Moments_V1_Timeline) throws {
    let owner = timeline.owner
    self.init(
      userDetails: UserDetails(
        id: try owner.id.required("owner.id"), name: owner.name, avatar: owner.avatar,
        backgroundImage: owner.backgroundImage),
      moments: try timeline.moments.map { try Moment($0) })
  }
}

extension MomentsDetails.Moment {
  fileprivate init(_ moment: Moments_V1_Moment) throws {
    self.init(
      id: try moment.id.required("moments.id"),
      userDetails: Author(name: moment.author.name, avatar: moment.author.avatar),
      type: MomentType(rawValue: moment.type), title: moment.hasTitle ? moment.title : nil,
      url: moment.hasURL ? moment.url : nil, photos: moment.photos, createdDate: String(moment.createdAt),
      isLiked: moment.isLiked,
      likes: try moment.likes.map { Liker(id: try $0.id.required("moments.likes.id"), avatar: $0.avatar) })
  }
}

extension String {
  fileprivate func required(_ field: String) throws -> String {
    guard !isEmpty else { throw RequestError(.undecodable, "The timeline's field \(field) is missing.") }
    return self
  }
}

extension Moments_V1_Timeline {
  /// Writes a timeline, for a service.
  package init(_ details: MomentsDetails) throws {
    self.init()
    owner = .with {
      $0.id = details.userDetails.id
      $0.name = details.userDetails.name
      $0.avatar = details.userDetails.avatar
      $0.backgroundImage = details.userDetails.backgroundImage
    }
    moments = try details.moments.map { try Moments_V1_Moment($0) }
  }
}

extension Moments_V1_Moment {
  fileprivate init(_ moment: MomentsDetails.Moment) throws {
    guard let createdAt = Int64(moment.createdDate) else {
      throw RequestError(.undecodable, "A moment's createdDate is no time.")
    }
    self.init()
    id = moment.id
    author = .with {
      $0.name = moment.userDetails.name
      $0.avatar = moment.userDetails.avatar
    }
    type = moment.type.rawValue
    if let title = moment.title { self.title = title }
    if let url = moment.url { self.url = url }
    photos = moment.photos
    self.createdAt = createdAt
    isLiked = moment.isLiked ?? false
    likes = (moment.likes ?? []).map { liker in
      .with {
        $0.id = liker.id
        $0.avatar = liker.avatar
      }
    }
  }
}
