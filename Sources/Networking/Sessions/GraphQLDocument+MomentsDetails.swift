extension GraphQLDocument {
  /// The fields of `MomentsDetails`, without likes if the variable `withLikes` is false.
  static let momentsDetailsFields: GraphQLDocument =
    """
    fragment momentsDetailsFields on MomentsDetails {
      userDetails { id name avatar backgroundImage }
      moments { ...momentFields }
    }
    """ + .momentFields

  /// The fields of `Moment`, without likes if the variable `withLikes` is false.
  static let momentFields: GraphQLDocument = """
    fragment momentFields on Moment {
      id
      userDetails { name avatar }
      type
      title
      url
      photos
      createdDate
      isLiked @include(if: $withLikes)
      likes @include(if: $withLikes) { id avatar }
    }
    """
}
