import Glibc
import StoresTestSupport

@testable import Stores

/// The machine's file system, of which one call fails: the one of a given number, or all from it on.
final class FaultyFileSystem: FileSystem {
  enum Fault: CaseIterable { case noSpace, inputOutput, noAccess, shortWrite }

  private struct State {
    var calls = 0
    var failing: (first: Int, fault: Fault, isLasting: Bool)?
    var failingName: (name: String, number: Int, fault: Fault)?
    var names: [String] = []
    var bytesRead = 0
    var keptSuffix: String?
    var beforeLock: (@Sendable () -> Void)?
    var onFault: (@Sendable () -> Void)?
    var onEachCall: (@Sendable () -> Void)?
    var afterRead: (@Sendable () -> Void)?
    var unreadable: (suffix: String, code: Int32)?
    var failsAfterRename: (suffix: String, isLasting: Bool)?
    var openCount = 0
    var isFull = false
    /// The paths of the folders that are open.
    var folders: [Int32: String] = [:]
    var unsyncedFolders: Set<String> = []
    var unsyncedRemovals: Set<String> = []
    var firstName: String?
  }

  private let real: SystemFileSystem
  private let state = Mutable(State())

  init(lockTimeout: Duration = .seconds(10)) {
    real = SystemFileSystem(lockTimeout: lockTimeout)
  }

  var calls: Int { state.value.calls }

  /// The calls since `fail` was called, by name.
  var names: [String] { state.value.names }

  /// The files that are open.
  var openCount: Int { state.value.openCount }

  /// The files whose removal no sync of a folder has followed: after a power cut, they may be there again.
  var unsyncedRemovals: Set<String> { state.value.unsyncedRemovals }

  /// The new folders whose parents were not synced: after a power cut, they may not be there.
  var unsyncedFolders: Set<String> { state.value.unsyncedFolders }

  /// The bytes that were read since `fail` was called.
  var bytesRead: Int { state.value.bytesRead }

  /// Counts from here on; the call with this number fails.
  func fail(call number: Int?, _ fault: Fault = .inputOutput, isLasting: Bool = false) {
    state.update {
      $0.calls = 0
      $0.names = []
      $0.bytesRead = 0
      $0.failing = number.map { ($0, fault, isLasting) }
      $0.failingName = nil
    }
  }

  /// The call after the next renaming to a name that ends like this fails, or all from it on.
  func failAfterRenaming(toNameEndingWith suffix: String, isLasting: Bool = false) {
    state.update { $0.failsAfterRename = (suffix, isLasting) }
  }

  /// Of the calls of a name from here on, the one with this number fails.
  func fail(_ name: String, number: Int, _ fault: Fault = .inputOutput) {
    fail(call: nil)
    state.update { $0.failingName = (name, number, fault) }
  }

  /// Whether no byte can be written, and no file made: the device is full.
  func setFull(_ isFull: Bool) { state.update { $0.isFull = isFull } }

  /// Lets no file be removed whose name ends like this; any, where there is none.
  func keepFiles(endingWith suffix: String?) { state.update { $0.keptSuffix = suffix } }

  /// Lets no file be opened for reading whose name ends like this; any, where there is none.
  func failReading(ofFilesEndingWith suffix: String?, code: Int32 = EIO) {
    state.update { $0.unreadable = suffix.map { ($0, code) } }
  }

  /// Lists this name before the others of a folder.
  func listFirst(_ name: String) { state.update { $0.firstName = name } }

  /// Does something once, when a call is about to fail.
  func onFault(_ action: @escaping @Sendable () -> Void) { state.update { $0.onFault = action } }

  /// Does something at each call, on its thread.
  func onEachCall(_ action: @escaping @Sendable () -> Void) { state.update { $0.onEachCall = action } }

  /// Does something once, when the file `lock` is about to be opened.
  func beforeLock(_ action: @escaping @Sendable () -> Void) { state.update { $0.beforeLock = action } }

  /// Does something once, when bytes of a file have been read.
  func afterRead(_ action: @escaping @Sendable () -> Void) { state.update { $0.afterRead = action } }

  /// Whether a write is to be cut short.
  @discardableResult
  private func check(_ name: String) throws -> Bool {
    state.value.onEachCall?()
    let fault = state.update { state -> Fault? in
      defer { state.calls += 1 }
      state.names.append(name)
      if let failing = state.failingName, failing.name == name,
        state.names.count(where: { $0 == name }) == failing.number + 1
      {
        return failing.fault
      }
      guard let failing = state.failing else { return nil }
      let isDue = failing.isLasting ? state.calls >= failing.first : state.calls == failing.first
      return isDue ? failing.fault : nil
    }
    if fault != nil { state.update { $0.onFault.take() }?() }
    switch fault {
    case nil: return false
    case .noSpace: throw FileError(code: ENOSPC, call: name)
    case .inputOutput: throw FileError(code: EIO, call: name)
    case .noAccess: throw FileError(code: EACCES, call: name)
    case .shortWrite:
      if name == "write" { return true }
      throw FileError(code: EIO, call: name)
    }
  }

  func open(_ path: String, _ mode: FileMode) throws -> Int32 {
    try check("open")
    if path.hasSuffix("/lock") { state.update { $0.beforeLock.take() }?() }
    if mode == .read, let unreadable = state.value.unreadable, path.hasSuffix(unreadable.suffix) {
      throw FileError(code: unreadable.code, call: "open")
    }
    let file = try real.open(path, mode)
    state.update { state in
      state.openCount += 1
      if mode == .folder { state.folders[file] = path }
    }
    return file
  }

  func read(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try check("read")
    let count = try real.read(file, buffer)
    state.update { $0.bytesRead += count }
    state.update { $0.afterRead.take() }?()
    return count
  }

  func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws -> Int {
    let isShort = try check("write")
    if state.value.isFull { throw FileError(code: ENOSPC, call: "write") }
    return try real.write(file, isShort ? UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2 + 1)) : bytes)
  }

  func sync(_ file: Int32) throws {
    try check("sync")
    try real.sync(file)
    state.update { state in
      guard let folder = state.folders[file] else { return }
      state.unsyncedRemovals = []
      state.unsyncedFolders = state.unsyncedFolders.filter { folder != "\($0)/.." }
    }
  }

  var lockTimeout: Duration { real.lockTimeout }

  func tryLock(_ file: Int32) throws -> Bool {
    try check("tryLock")
    return try real.tryLock(file)
  }

  func close(_ file: Int32) throws {
    // The system closes the number, whatever else goes wrong.
    state.update { state in
      state.openCount -= 1
      state.folders[file] = nil
    }
    try real.close(file)
    try check("close")
  }

  func status(of file: Int32) throws -> FileStatus {
    try check("status")
    return try real.status(of: file)
  }

  func touch(_ file: Int32, after time: Int64) throws -> Int64 {
    try check("touch")
    return try real.touch(file, after: time)
  }

  func status(at path: String) throws -> FileStatus {
    try check("status")
    return try real.status(at: path)
  }

  func rename(_ path: String, to target: String) throws {
    try check("rename")
    try real.rename(path, to: target)
    state.update { state in
      guard let failing = state.failsAfterRename, target.hasSuffix(failing.suffix) else { return }
      state.failsAfterRename = nil
      state.failing = (state.calls, .inputOutput, failing.isLasting)
    }
  }

  func remove(_ path: String) throws {
    try check("remove")
    if let suffix = state.value.keptSuffix, path.hasSuffix(suffix) { throw FileError(code: EIO, call: "remove") }
    try real.remove(path)
    state.update { _ = $0.unsyncedRemovals.insert(path) }
  }

  func makeFolder(_ path: String) throws -> Bool {
    try check("makeFolder")
    let isNew = try real.makeFolder(path)
    if isNew { state.update { _ = $0.unsyncedFolders.insert(path) } }
    return isNew
  }

  func removeFolder(_ path: String) throws {
    try check("removeFolder")
    try real.removeFolder(path)
    state.update { _ = $0.unsyncedFolders.remove(path) }
  }

  func names(in folder: String) throws -> [String] {
    try check("names")
    let (names, first) = (try real.names(in: folder), state.value.firstName)
    return names.filter { $0 == first } + names.filter { $0 != first }
  }
}
