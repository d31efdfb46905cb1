import Foundation

extension TapeDecoder {
  func date(at place: Int, step: Step?) throws -> Date {
    switch document.options.dates {
    case .iso8601:
      guard let date = Date(iso8601: try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date such as 2026-01-31T12:00:00.5+01:00", at: place, step: step)
      }
      return date
    case .secondsSince1970:
      return Date(timeIntervalSince1970: try decodeValue(Double.self, at: place, step: step))
    case .millisecondsSince1970:
      return Date(timeIntervalSince1970: try decodeValue(Double.self, at: place, step: step) / 1000)
    case .deferredToDate:
      return Date(timeIntervalSinceReferenceDate: try decodeValue(Double.self, at: place, step: step))
    case .custom(let read, _):
      guard let date = read(try decodeValue(String.self, at: place, step: step)) else {
        throw corrupted(.invalid, "a date in the format that was set", at: place, step: step)
      }
      return date
    }
  }

  func data(at place: Int, step: Step?) throws -> Data {
    guard document.options.data == .base64 else {
      return try lendingDecoder(at: place, step: step) { try Data(from: $0) }
    }
    guard let data = Data(base64Encoded: try decodeValue(String.self, at: place, step: step)) else {
      throw corrupted(.invalid, "data in Base64", at: place, step: step)
    }
    return data
  }

  func url(at place: Int, step: Step?) throws -> URL {
    guard let url = URL(string: try decodeValue(String.self, at: place, step: step)) else {
      throw corrupted(.invalid, "a URL", at: place, step: step)
    }
    return url
  }

  func decimal(at place: Int, step: Step?) throws -> Decimal {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Decimal.self, "a number", at: place, step: step) }
    guard let value = Decimal(string: document.string(token)), value.isFinite else {
      throw corrupted(.outOfRange, "a number that fits Decimal", at: place, step: step)
    }
    return value
  }
}
