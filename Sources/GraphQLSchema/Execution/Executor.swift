public import GraphQLLanguage
public import StrictJSON

/// Executes operations on a schema with a function that gives the value of each field (section 6 of the specification).
///
/// Fields are executed one after the other, in the order of the document, in queries and mutations alike. Introspection
/// needs no function. Documents must be valid; an invalid one gives errors or nulls in odd places, and never a crash.
public struct Executor: Sendable {
  /// A field that is to be executed.
  public struct FieldRequest: Sendable {
    /// The field, with its type and the type that has it.
    public let field: Field
    /// The value that the field is selected on: an object, or `null` for a root type.
    public let parent: JSONValue
    /// The values of the arguments that are given or have a default.
    public let arguments: [String: JSONValue]
    /// Where the value will stand in the response.
    public let path: [JSONError.PathElement]
  }

  /// Gives the value of a field: where its type has fields, an object of those that are known, with `__typename` if the
  /// type is an interface or union. A `FieldError` or any other error becomes an error of the response.
  public typealias Resolver = @Sendable (FieldRequest) throws -> JSONValue

  /// The schema.
  public let schema: Schema
  let resolve: Resolver

  /// Makes an executor.
  /// - Parameters:
  ///   - schema: The schema.
  ///   - resolve: Gives the value of each field; it is called on the thread that executes.
  public init(_ schema: Schema, resolve: @escaping Resolver) {
    self.schema = schema
    self.resolve = resolve
  }

  /// Executes an operation of a valid document.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - operationName: Which operation, if there are several.
  ///   - variables: The values of its variables, as they came.
  /// - Returns: The data and the errors. `data` is `nil` if the execution did not begin: there is no such operation, or a
  ///   variable does not fit.
  public func execute(
    _ document: DocumentSyntax, operationName: String? = nil, variables: [String: JSONValue] = [:]
  ) -> ExecutionResult {
    do {
      let operation = try document.operation(named: operationName)
      guard let root = schema.rootType(of: operation.kind) else {
        throw ExecutionError(
          message: "the schema has no \(operation.kind.rawValue) operations", locations: [operation.location])
      }
      let variables = try schema.coerce(variables: variables, for: operation)
      var run = ExecutionRun(self, Selections(of: operation, FragmentTable(document)), variables)
      let data = run.execute(on: root)
      return ExecutionResult(data: data, errors: run.errors)
    } catch let faults as CoercionErrors {
      let errors = faults.errors.map { ExecutionError(message: $0.message, locations: $0.locations) }
      return ExecutionResult(data: nil, errors: errors)
    } catch {
      return ExecutionResult(data: nil, errors: [error as? ExecutionError ?? ExecutionError(message: "\(error)")])
    }
  }
}

/// An error with which a resolver fails a field.
public struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the response says.
  public let message: String
  /// What else the response says, such as a code.
  public let extensions: [String: JSONValue]

  /// Makes an error.
  public init(_ message: String, extensions: [String: JSONValue] = [:]) {
    self.message = message
    self.extensions = extensions
  }

  /// The message.
  public var description: String { message }
}

extension DocumentSyntax {
  /// The operation with a name, or the only one (section 6.1, `GetOperation`).
  /// - Throws: That there is none, or that there are several.
  public func operation(named name: String?) throws(ExecutionError) -> OperationSyntax {
    let operations = operations
    guard let name else {
      if operations.count == 1 { return operations[0] }
      throw ExecutionError(
        message: operations.isEmpty ? "the document has no operation" : "the document has several operations: name one")
    }
    if let operation = operations.first(where: { $0.name.map { $0 == name } ?? false }) { return operation }
    let near = Suggestions.nearest(to: name, among: operations.compactMap { $0.name?.text })
    throw ExecutionError(message: "the document has no operation \"\(name)\"." + Suggestions.question(near))
  }
}
