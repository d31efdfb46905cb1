public import Foundation

extension URL {
  /// The URL for logs and errors, without what may be secret: user, password and the values of the query. A part of the
  /// query without a name counts as a value.
  public var shownSafely: String {
    guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "<unreadable URL>" }
    components.user = nil
    components.password = nil
    components.fragment = nil
    components.queryItems = components.queryItems?.map { item in
      item.value == nil ? URLQueryItem(name: "…", value: nil) : URLQueryItem(name: item.name, value: "…")
    }
    return (components.string?.removingPercentEncoding ?? components.string ?? "<unreadable URL>").harmless(upTo: 512)
  }
}
