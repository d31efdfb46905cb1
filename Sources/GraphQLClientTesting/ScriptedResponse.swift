public import HTTPClientCore
public import SystemBase

/// What a ``ScriptedTransport`` does with a request: steps, one after another.
public struct ScriptedResponse: Sendable {
  typealias Step = ScriptStep<HTTPResponsePart>

  var steps: [Step]

  /// A response with a body.
  public static func response(
    status: Int = 200, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()
  ) -> ScriptedResponse {
    ScriptedResponse(steps: HTTPResponse(status: status, headers: headers, body: body).parts.map { .send($0) })
  }

  /// A response with a JSON text.
  public static func json(_ text: String, status: Int = 200) -> ScriptedResponse {
    .response(status: status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
  }

  /// A failure without a response.
  public static func failure(_ error: RequestError) -> ScriptedResponse {
    ScriptedResponse(steps: [.fail(error)])
  }

  /// No response, ever.
  public static let never = ScriptedResponse(steps: [.hang])

  /// The response after a delay.
  public func after(_ delay: Duration) -> ScriptedResponse {
    ScriptedResponse(steps: [.wait(delay)] + steps)
  }

  /// The response, with its body in pieces of `size` bytes.
  public func inPieces(of size: Int) -> ScriptedResponse {
    precondition(size > 0, "A piece holds at least one byte.")
    return ScriptedResponse(
      steps: steps.flatMap { step -> [Step] in
        guard case .send(.body(let body)) = step else { return [step] }
        return stride(from: 0, to: body.count, by: size).map { .send(.body(Data(body.dropFirst($0).prefix(size)))) }
      })
  }

  /// The response, followed by the steps of another one: parts that come later, for example.
  package func then(_ other: ScriptedResponse) -> ScriptedResponse {
    ScriptedResponse(steps: steps + other.steps)
  }

  /// The response, but with a failure instead of its end: a connection that is lost during the body, for example.
  public func thenFailing(_ error: RequestError) -> ScriptedResponse {
    ScriptedResponse(steps: steps + [.fail(error)])
  }
}
