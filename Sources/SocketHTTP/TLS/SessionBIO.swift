import HTTPClientCore
import SystemBase

/// The two byte queues between OpenSSL and the socket: received bytes that are to be decrypted, and encrypted bytes
/// that are to be sent.
///
/// OpenSSL uses it as a custom type of BIO (bio(7), BIO_meth_new(3)), and calls it only during a call to the session,
/// on the same thread.
final class SessionBIO {
  var incoming = ByteQueue()
  var outgoing = ByteQueue()

  /// Makes a BIO and gives it to an `SSL`, which frees it; `self` must be kept alive until the `SSL` is freed.
  ///
  /// Returns `nil` if OpenSSL has no memory left.
  init?(for session: OpenSSL.Handle, _ library: OpenSSL) {
    guard let handle = library.bioNew(Self.method) else { return nil }
    library.bioSetData(handle, Unmanaged.passUnretained(self).toOpaque())
    library.bioSetInitialized(handle, 1)
    library.setBIOs(session, handle, handle)
  }

  /// The BIO method that OpenSSL calls; `nil` if it could not be made.
  ///
  /// It is made once, never changed and never freed, so any thread may use it.
  nonisolated(unsafe) private static let method: OpenSSL.Handle? = {
    guard case .success(let library) = OpenSSL.shared else { return nil }
    let type = library.bioNewType()
    guard type > 0, let method = library.methodNew(type | OpenSSL.BIO.sourceSink, "TLSSession"),
      library.methodSetRead(method, read) == 1, library.methodSetWrite(method, write) == 1,
      library.methodSetControl(method, control) == 1
    else { return nil }
    return method
  }()

  private static let read: OpenSSL.BIORead = { handle, target, limit, count in
    guard case .success(let library) = OpenSSL.shared, let bio = SessionBIO.of(handle, library) else { return 0 }
    library.bioClearFlags(handle, OpenSSL.BIO.anyRetry)
    let bytes = bio.incoming.bytes
    guard let source = bytes.baseAddress, !bytes.isEmpty, let target, let count else {
      // This is not the end of the data: the session knows whether the socket has ended.
      library.bioSetFlags(handle, OpenSSL.BIO.retryRead)
      return 0
    }
    let part = min(limit, bytes.count)
    target.copyMemory(from: source, byteCount: part)
    count.pointee = part
    bio.incoming.removeFirst(part)
    return 1
  }

  private static let write: OpenSSL.BIOWrite = { handle, source, size, count in
    guard case .success(let library) = OpenSSL.shared, let bio = SessionBIO.of(handle, library) else { return 0 }
    // A failure to write must not look like an earlier lack of bytes to read.
    library.bioClearFlags(handle, OpenSSL.BIO.anyRetry)
    guard bio.outgoing.append(UnsafeRawBufferPointer(start: source, count: size)) else { return 0 }
    count?.pointee = size
    return 1
  }

  private static let control: OpenSSL.BIOControl = { _, command, _, _ in command == OpenSSL.BIO.flush ? 1 : 0 }

  private static func of(_ handle: OpenSSL.Handle?, _ library: OpenSSL) -> SessionBIO? {
    library.bioData(handle).map { Unmanaged<SessionBIO>.fromOpaque($0).takeUnretainedValue() }
  }
}
