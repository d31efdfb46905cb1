/// The help texts.
enum Help {
  static func text(for command: Arguments.Command?) -> String {
    let text =
      switch command {
      case nil: all
      case .validate?: validate
      case .format?: format
      case .manifest?: manifest
      case .download?: download
      case .print?: print
      case .check?: check
      case .diff?: diff
      }
    return text + "\n"
  }

  private static let all = """
    Checks GraphQL documents and schemas.

    Usage:
      graphql validate --schema SCHEMA [--json] FILE...
      graphql format [--check] FILE...
      graphql manifest [--format FORMAT] [--output FILE] FILE...
      graphql schema download --endpoint URL --output FILE [--header "NAME: VALUE"]...
      graphql schema print [--sort] [--json] SCHEMA
      graphql schema check [--json] SCHEMA
      graphql schema diff [--json] OLD NEW [FILE...]
      graphql [COMMAND] --help | --version

    A schema is SDL or the JSON of an introspection. The file - is standard input.

    Exit codes:
      0   all is valid
      64  the command line is wrong
      65  something is not valid, not formatted, or breaks
      66  a file cannot be read
      69  the server was not reached
      73  a file cannot be written
    """

  private static let validate = """
    Checks documents by all rules of the specification, and names what is meant.

    Usage: graphql validate --schema SCHEMA [--json] FILE...

      --schema SCHEMA  SDL, or the JSON of an introspection
      --json           print [{"file", "rule", "message", "locations"}, ...]

    Prints FILE:LINE:COLUMN: error: MESSAGE [Rule] for each error. Exits with 65 if there is one.
    """

  private static let format = """
    Puts documents and schemas into the usual format, and keeps their comments.

    Usage: graphql format [--check] FILE...

      --check  change nothing, but print the files that would change, and exit with 65

    Standard input is printed to standard output.
    """

  private static let manifest = """
    Lists operations with their ids, the SHA-256 of each, for a server that is to trust no others.

    Usage: graphql manifest [--format FORMAT] [--output FILE] FILE...

      --format FORMAT  apollo, the default: {"format", "version", "operations": [{"id", "name", ...}]};
                       or relay: {"ID": "DOCUMENT", ...}
      --output FILE    where to write it; - for standard output, the default

    Takes the operations of GraphQL files, each with the fragments that it uses, from whichever file;
    and those of Swift files, where they are written as constants of the type GraphQLDocument.
    """

  private static let download = """
    Asks a server for its schema, by introspection. Servers of any age are understood.

    Usage: graphql schema download --endpoint URL --output FILE [--header "NAME: VALUE"]...

      --endpoint URL          where the server takes GraphQL requests
      --output FILE           SDL; or the JSON, if the name ends in .json; - for standard output
      --header "NAME: VALUE"  a header of the requests, such as Authorization; may be repeated
    """

  private static let print = """
    Prints a schema as SDL, with its extensions merged into what they extend.

    Usage: graphql schema print [--sort] [--json] SCHEMA

      --sort  sort types, fields, arguments and values by name
      --json  print the JSON of an introspection instead
    """

  private static let check = """
    Checks a schema by the rules of the specification.

    Usage: graphql schema check [--json] SCHEMA

    Warnings are about faults with which the schema can be used all the same. Exits with 65 if there
    are errors.
    """

  private static let diff = """
    Lists what is different in a newer schema, sorted into breaking, dangerous and safe changes.

    Usage: graphql schema diff [--json] OLD NEW [FILE...]

    With documents that are valid for the old schema, it names the operations that feel each change.
    Exits with 65 if something breaks.
    """
}
