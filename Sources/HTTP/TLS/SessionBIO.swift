/// The two ends of a session's bytes that OpenSSL holds: what has come and waits to be decoded, and what is encoded and
/// waits to be sent.
///
/// OpenSSL calls it as a BIO of a type of its own (bio(7), BIO_meth_new(3)), always on the thread and in the midst of a
/// call to the session.
final class SessionBIO {
  var incoming = ByteQueue()
  var outgoing = ByteQueue()

  /// Makes a BIO and hands it to an `SSL`, which frees it; whoever frees that holds `self` until then.
  ///
  /// `nil` where OpenSSL has no memory left.
  init?(for session: OpenSSL.Handle, _ library: OpenSSL) {
    guard let handle = library.bioNew(Self.method) else { return nil }
    library.bioSetData(handle, Unmanaged.passUnretained(self).toOpaque())
    library.bioSetInitialized(handle, 1)
    library.setBIOs(session, handle, handle)
  }

  /// What OpenSSL calls; `nil` where it could not be made.
  ///
  /// Made once, never changed and never freed: any thread may use it.
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
      // Not the end: the session knows whether the socket has ended.
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
    // A failure to write must not look like the last lack of bytes to read.
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
