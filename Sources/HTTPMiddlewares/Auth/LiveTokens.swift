package import Streams

/// Whose token it is now, for connections that outlast requests.
extension AuthMiddleware {
  /// The current token.
  package var currentToken: AccessToken? { tokens.currentToken }

  /// Each token that becomes the current one, as far as the provider says.
  package var tokenChanges: Observable<AccessToken?> { tokens.changes }
}
