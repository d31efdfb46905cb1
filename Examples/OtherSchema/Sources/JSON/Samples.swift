/// What the server sends, for tests.
public enum Samples {
  /// The response to a search that finds one book.
  public static let search = """
    {"data": {"searchBooks": {"next": null, "books": [
      {"isbn": "0-201-03801-3", "title": "計算機程序設計藝術", "publishedAt": "1968-01-01T00:00:00.25+01:00",
       "priceInCents": 4200, "note": null}]}}}
    """

  /// The response to a reservation of a book that is sold out.
  public static let soldOut = #"{"errors": [{"message": "sold out"}], "data": null}"#
}
