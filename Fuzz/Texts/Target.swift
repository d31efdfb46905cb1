import Foundation

/// Reads any text as a header field, an error text or a date from a server. The first byte says how much of the rest is
/// a secret.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = UnsafeBufferPointer(start: start + 1, count: count - 1)
  let text = String(decoding: bytes, as: UTF8.self)
  checkRedaction(of: String(decoding: bytes.prefix(Int(start[0])), as: UTF8.self), in: text)
  checkHarmless(text, limit: Int(start[0]))
  if let trace = TraceContext(text) {
    precondition(TraceContext(trace.description) == trace, "Another trace.")
  }
  let fields = ["Retry-After", "Date"].map { HTTPField(received: $0, value: text) }
  for fields in [fields, [fields[0]]] {
    let wait = HTTPResponseHead(status: 503, headers: HTTPHeaders(fields)).retryAfter(now: Date())
    precondition(wait.map { $0 >= .zero } ?? true, "A wait that ends before it begins.")
  }
  checkDate(text)
  if let url = URL(string: text) { _ = (url.shownSafely, try? HTTPTarget(url)) }
  return 0
}

private func checkRedaction(of secret: String, in text: String) {
  let field = HTTPField(received: "Authorization", value: secret)
  let (secret, redactor) = (field.value, Redactor(secretsOf: [field]))
  guard secret.utf8.count >= 8 else { return }
  for piece in redactor.redact(text).components(separatedBy: Redactor.placeholder) {
    precondition(!piece.utf8.contains(secret.utf8), "The secret is shown.")
  }
}

private func checkHarmless(_ text: String, limit: Int) {
  let sanitized = text.sanitized()
  precondition(sanitized.sanitized() == sanitized, "A sanitized text is not sanitized.")
  precondition(text.sanitized(upTo: limit).utf8.count <= limit + "…".utf8.count, "More than the limit.")
  precondition(!sanitized.unicodeScalars.contains { $0.properties.generalCategory == .control }, "A control character.")
}

private func checkDate(_ text: String) {
  guard let date = Date(iso8601: text), let written = date.iso8601 else { return }
  guard let again = Date(iso8601: written) else { preconditionFailure("What is written is not read.") }
  precondition(abs(again.timeIntervalSince(date)) < 0.001, "Another time.")
}
