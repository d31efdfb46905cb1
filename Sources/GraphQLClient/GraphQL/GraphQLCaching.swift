public import HTTPClientCore
public import HTTPMiddlewares
import StrictJSON
import SystemBase

extension CacheMiddleware {
  /// Whether a response reports no GraphQL errors, for `mayStore`: one with errors may be better a moment later, and a
  /// server that does not know a persisted query's hash says so in the same way.
  ///
  ///     CacheMiddleware(storage, mayStore: CacheMiddleware.hasNoGraphQLErrors)
  ///
  /// It declines JSON objects with a member `errors` that is neither `null` nor an empty list, and what claims to be
  /// JSON and is not. It accepts all that is of another type.
  public static let hasNoGraphQLErrors: @Sendable (HTTPResponse) -> Bool = { response in
    guard response.head.isJSON || response.head.mediaType == nil, !response.body.isEmpty else { return true }
    do {
      return try JSONReader.reading(response.body.bytes) { json throws(JSONError) in
        guard try json.nextKind() == .object else {
          try json.skipValue()
          return true
        }
        var hasErrors = false
        try json.beginObject()
        while try json.nextKey() {
          if json.key == "errors" { hasErrors = try json.skipsContent() } else { try json.skipValue() }
        }
        return !hasErrors
      }
    } catch {
      return false
    }
  }
}

extension JSONReader {
  /// Skips a value; returns whether it was anything but `null` or an empty list.
  fileprivate mutating func skipsContent() throws(JSONError) -> Bool {
    guard try nextKind() == .array else {
      let isNull = try readNull()
      if !isNull { try skipValue() }
      return !isNull
    }
    var isEmpty = true
    try beginArray()
    while try nextElement() {
      isEmpty = false
      try skipValue()
    }
    return !isEmpty
  }
}
