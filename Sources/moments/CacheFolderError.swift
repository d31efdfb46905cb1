import Repository

/// A folder of `--cache-dir` that cannot be opened.
struct CacheFolderError: Error {
  let path: String
  let cause: FileError
}
