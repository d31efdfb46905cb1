import Repository

/// The folder of `--cache-dir` cannot be opened.
struct CacheFolderError: Error {
  let path: String
  let cause: FileError
}
