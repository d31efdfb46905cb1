public import Foundation

/// What an answer arrives as: one head, then any number of pieces of the body, none of them empty.
public enum HTTPResponsePart: Hashable, Sendable {
  /// The final head; interim ones (1xx) are not shown.
  case head(HTTPResponseHead)

  /// The next piece of the body, after transfer and content codings were taken off.
  case body(Data)
}
