import CommandLineBase
import HTTPClientCore
import Networking
import Repository
import Streams
import SystemBase

extension MomentsCommand {
  /// Posts a photo, and shows the new moment. In a terminal, its progress is drawn meanwhile.
  func postPhoto(_ path: String) async throws {
    let photo = try Self.photo(path)
    let service = try service()
    let output = Output.standardError
    let terminal = Terminal(descriptor: output.descriptor, environment: environment)
    let bar = arguments.showsJSON || arguments.isVerbose ? nil : ProgressBar(photo.fileName, on: output, terminal)
    let posting = service.repo.postPhoto(
      photo, title: arguments.title, userID: arguments.userID,
      onProgress: { bar?.show($0.sent, of: $0.totalToSend ?? $0.sent) })
    defer { bar?.end() }
    let moment = try await answer(posting, from: service)
    bar?.end()
    try show(moment) { $0.moment(moment) }
  }

  private static func photo(_ path: String) throws(UsageError) -> GraphQLUpload {
    do throws(RequestError) {
      let url = URL(fileURLWithPath: path)
      return try .file(url, contentType: contentType(of: url))
    } catch {
      throw UsageError(error.message)
    }
  }

  /// The media type that a file's name tells.
  private static func contentType(of url: URL) -> String {
    switch url.pathExtension.lowercased() {
    case "avif": "image/avif"
    case "gif": "image/gif"
    case "heic": "image/heic"
    case "jpg", "jpeg": "image/jpeg"
    case "png": "image/png"
    case "webp": "image/webp"
    default: "application/octet-stream"
    }
  }
}
