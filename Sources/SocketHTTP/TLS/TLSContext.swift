package import HTTPClientCore
import Streams
import SystemBase

#if os(Linux)
  import CLinux  // has the fields of timespec
#endif

/// Shared by all sessions of one configuration: OpenSSL's context with the session tickets, which is made again when
/// the files that it was made of have changed.
///
/// Thread-safe.
package final class TLSContext: Sendable {
  private let configuration: TLSConfiguration
  private let whenReloaded: @Sendable (RequestError?) -> Void
  private let context = Locked<OpenSSLContext?>(nil)

  /// Makes a context; this does not load anything yet. `whenReloaded` is called whenever changed files have been read,
  /// on the thread of `prepare()`, with an error if they could not be used.
  package init(
    _ configuration: TLSConfiguration, whenReloaded: @escaping @Sendable (RequestError?) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.whenReloaded = whenReloaded
  }

  /// Loads OpenSSL and reads the certificates, which takes about 55 ms for a system's, and during which all others who
  /// need this context for the first time wait. If that is done, reads the certificates again if their files have
  /// changed. Call it before the first session, and from time to time, on a thread that may block.
  ///
  /// Throws `insecure` if there is no context yet; the next call tries again. If changed files cannot be used, as when
  /// a new certificate is there and its key is not, the sessions continue with the former ones.
  package func prepare() throws(RequestError) {
    guard let old = context.withLock({ $0 }) else {
      _ = try openSSL()
      return
    }
    guard old.isOutdated else { return }
    do throws(RequestError) {
      let made = try OpenSSLContext(configuration)
      context.withLock { $0 = made }
      whenReloaded(nil)
    } catch {
      whenReloaded(error)
    }
  }

  func openSSL() throws(RequestError) -> OpenSSLContext {
    let result: Result<OpenSSLContext, RequestError> = context.withLock { context in
      if let context { return .success(context) }
      do throws(RequestError) {
        let made = try OpenSSLContext(configuration)
        context = made
        return .success(made)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// What shows whether a file was rewritten or replaced.
struct FileStamp: Hashable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  /// When the contents were last changed, which a program can set back, and when anything about the file was.
  private let modification: Time
  private let change: Time

  private struct Time: Hashable {
    let seconds: Int
    let nanoseconds: Int

    init(_ time: timespec) { (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec)) }
  }

  /// The stamp of a regular file; `nil` if there is none, or if it is of another kind: a pipe can be read only once.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Darwin)
      (modification, change) = (Time(status.st_mtimespec), Time(status.st_ctimespec))
    #else
      (modification, change) = (Time(status.st_mtim), Time(status.st_ctim))
    #endif
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
    size = Int64(truncatingIfNeeded: status.st_size)
  }
}
