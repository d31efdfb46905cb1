import GraphQLLanguage
import GraphQLSchema
import JSON
import Platform

/// A file that was read, or standard input.
struct Input {
  /// How messages call it.
  let name: String
  let bytes: [UInt8]

  /// Reads a file, or standard input for `-`.
  init(_ path: String) throws(GraphQLCommand.Failure) {
    name = path == "-" ? "<stdin>" : path
    do throws(SystemError) {
      bytes = try path == "-" ? FileDescriptor.standardInput.readAll() : FileDescriptor.contents(of: path)
    } catch {
      let reason =
        switch error.code {
        case ENOENT, ENOTDIR: "there is no such file"
        case EISDIR: "it is a folder"
        default: "it cannot be read"
        }
      throw GraphQLCommand.Failure(exitCode: .noInput, message: "\(path): \(reason)")
    }
  }

  /// The lines of the text, for messages that show one.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension GraphQLCommand {
  /// Reads files; each that cannot be read is reported, and the run fails when all have been tried.
  func inputs(_ paths: [String]) throws(Failure) -> [Input] {
    var inputs: [Input] = []
    var failure: Failure?
    for path in paths {
      do throws(Failure) {
        inputs.append(try Input(path))
      } catch {
        if let failure { console.complain("graphql: \(failure.message)") }
        failure = error
      }
    }
    if let failure { throw failure }
    return inputs
  }

  /// Reads a schema: SDL, or the JSON of an introspection.
  func schema(_ input: Input) throws -> Schema {
    do {
      return try Schema(reading: input.bytes)
    } catch let error as GraphQLSyntaxError {
      throw Unreadable(finding: Finding(error, in: input))
    } catch let error as JSONError {
      throw Failure(exitCode: .invalid, message: "\(input.name): this is no introspection: \(error)")
    }
  }

  /// A schema that is not GraphQL.
  struct Unreadable: Error {
    let finding: Finding
  }

  /// Prints the finding about a schema that is not GraphQL.
  func reportingSchema(_ body: () throws -> ExitCode) throws -> ExitCode {
    do {
      return try body()
    } catch let error as Unreadable {
      report([error.finding])
      return .invalid
    }
  }
}
