/// The rules for executable documents, by the names that graphql-js gives them: those of section 5 of the specification,
/// those for `@defer` and `@stream`, which concern schemas that define these directives, and a limit.
public enum ValidationRule: String, CaseIterable, Hashable, Sendable {
  /// A document holds operations and fragments only (5.1.1).
  case executableDefinitions = "ExecutableDefinitions"
  /// The schema has a root type for each kind of operation (5.2.1.1).
  case knownOperationTypes = "KnownOperationTypes"
  /// Operations have different names (5.2.2.1).
  case uniqueOperationNames = "UniqueOperationNames"
  /// An operation without a name is the only one (5.2.3.1).
  case loneAnonymousOperation = "LoneAnonymousOperation"
  /// A subscription selects one field, whatever its variables are (5.2.4.1).
  case singleFieldSubscriptions = "SingleFieldSubscriptions"
  /// Types exist (5.5.1.2, 5.8.2).
  case knownTypeNames = "KnownTypeNames"
  /// Fragments are on objects, interfaces and unions (5.5.1.3).
  case fragmentsOnCompositeTypes = "FragmentsOnCompositeTypes"
  /// Variables are scalars, enums and input objects (5.8.2).
  case variablesAreInputTypes = "VariablesAreInputTypes"
  /// Fields of composite types have selections, and other fields have none (5.3.3).
  case scalarLeafs = "ScalarLeafs"
  /// The type that is selected on has the field (5.3.1).
  case fieldsOnCorrectType = "FieldsOnCorrectType"
  /// Fragments have different names (5.5.1.1).
  case uniqueFragmentNames = "UniqueFragmentNames"
  /// A fragment that is spread exists (5.5.2.1).
  case knownFragmentNames = "KnownFragmentNames"
  /// Fragments are spread somewhere (5.5.1.4).
  case noUnusedFragments = "NoUnusedFragments"
  /// A fragment can apply where it is spread (5.5.2.3).
  case possibleFragmentSpreads = "PossibleFragmentSpreads"
  /// Fragments do not spread themselves (5.5.2.2).
  case noFragmentCycles = "NoFragmentCycles"
  /// The variables of an operation have different names (5.8.1).
  case uniqueVariableNames = "UniqueVariableNames"
  /// Variables that are used are defined (5.8.3).
  case noUndefinedVariables = "NoUndefinedVariables"
  /// Variables that are defined are used (5.8.4).
  case noUnusedVariables = "NoUnusedVariables"
  /// Directives exist, and stand where they may (5.7.1, 5.7.2).
  case knownDirectives = "KnownDirectives"
  /// A directive stands once in a place, unless it is repeatable (5.7.3).
  case uniqueDirectivesPerLocation = "UniqueDirectivesPerLocation"
  /// The root fields of mutations and subscriptions are not deferred or streamed.
  case deferStreamDirectiveOnRootField = "DeferStreamDirectiveOnRootField"
  /// Subscriptions can do without deferring and streaming.
  case deferStreamDirectiveOnValidOperations = "DeferStreamDirectiveOnValidOperations"
  /// The labels of `@defer` and `@stream` are different strings.
  case deferStreamDirectiveLabel = "DeferStreamDirectiveLabel"
  /// Only lists are streamed.
  case streamDirectiveOnListField = "StreamDirectiveOnListField"
  /// The field or directive has the argument (5.4.1).
  case knownArgumentNames = "KnownArgumentNames"
  /// An argument is given once (5.4.2).
  case uniqueArgumentNames = "UniqueArgumentNames"
  /// Literals fit the type of their place (5.6.1, 5.6.2, 5.6.4).
  case valuesOfCorrectType = "ValuesOfCorrectType"
  /// Required arguments are given (5.4.3).
  case providedRequiredArguments = "ProvidedRequiredArguments"
  /// Variables fit the type of their place (5.8.5).
  case variablesInAllowedPosition = "VariablesInAllowedPosition"
  /// Fields with one name in the response are the same field (5.3.2).
  case overlappingFieldsCanBeMerged = "OverlappingFieldsCanBeMerged"
  /// A field of an input object is given once (5.6.3).
  case uniqueInputFieldNames = "UniqueInputFieldNames"
  /// Introspection does not follow lists of types into lists of types again and again.
  case maxIntrospectionDepth = "MaxIntrospectionDepth"
}
