import HTTPTypes
import Hummingbird

/// Says in each response what a browser may do with it, also in those that refuse something.
struct SecurityHeaders<Context: RequestContext>: RouterMiddleware {
  /// Scripts, styles and requests are the server's alone, none of them inline; pictures are from anywhere in the web. No
  /// other page may frame this one.
  static var contentPolicy: String {
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src http: https: data:; "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      response = try await next(request, context)
    } catch let error as any HTTPResponseError {
      response = try error.response(from: request, context: context)
    }
    response.headers[.contentSecurityPolicy] = Self.contentPolicy
    response.headers[.xContentTypeOptions] = "nosniff"
    for (name, value) in Self.others { response.headers[name] = value }
    return response
  }

  private static var others: [(HTTPField.Name, String)] {
    [
      ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }
  }
}
