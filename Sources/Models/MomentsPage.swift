/// A part of a timeline, paged by number: `MomentPage` in `schema.graphql`.
public struct MomentsPage: Codable, Hashable, Sendable {
  /// The number of the page; the first is 1.
  public let curPage: Int

  /// How many pages there are.
  public let pageCount: Int

  /// How many moments there are on all pages.
  public let total: Int

  /// The greatest number of moments on a page.
  public let size: Int

  /// Whether this is the last page, or one after it.
  public let over: Bool

  /// The moments, in the server's order.
  public let datas: [MomentsDetails.Moment]

  /// Makes a page from its fields.
  public init(
    curPage: Int, pageCount: Int, total: Int, size: Int, over: Bool, datas: [MomentsDetails.Moment]
  ) {
    self.curPage = curPage
    self.pageCount = pageCount
    self.total = total
    self.size = size
    self.over = over
    self.datas = datas
  }
}
