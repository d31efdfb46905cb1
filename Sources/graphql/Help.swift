/// The help texts.
enum Help {
  static func text(for command: Arguments.Command?) -> String {
    let text =
      switch command {
      case nil: all
      case .validate?: validate
      case .format?: format
      case .manifest?: manifest
      case .generate?: generate
      case .download?: download
      case .print?: print
      case .check?: check
      case .diff?: diff
      }
    return text + "\n"
  }

  private static let all = """
    Checks GraphQL documents and schemas, and writes the Swift of sessions.

    Usage:
      graphql validate --schema SCHEMA [--separately] [--no-warnings] [--json] FILE...
      graphql format [--check] FILE...
      graphql manifest [--format FORMAT] [--output FILE] [--separately] FILE...
      graphql generate [--config FILE] [--schema SCHEMA] [--output DIR] [--check] [--json] [FILE...]
      graphql generate [--header "NAME: VALUE"]... [--allow-cleartext] [--manifest FILE] [FILE...]
      graphql generate [--once] [--no-warnings] [FILE...]
      graphql schema download --endpoint URL --output FILE [--header "NAME: VALUE"]...
                              [--allow-cleartext]
      graphql schema print [--sort] [--json] SCHEMA
      graphql schema check [--no-warnings] [--json] SCHEMA
      graphql schema diff [--separately] [--json] OLD NEW [FILE...]
      graphql [COMMAND] --help | --version

    A schema is SDL or the JSON of an introspection. The file - is standard input. A folder stands for
    the files in it. Results go to standard output, and their number to standard error.

    Environment:
      GRAPHQL_AUTHORIZATION  the value of the header Authorization for a server that is asked for its
                             schema, such as Bearer and a token
      NO_COLOR               no colours, if it is not empty

    Exit codes:
      0   all is valid
      64  the command line is wrong
      65  something is not valid, not formatted, or breaks
      66  a file cannot be read
      69  the server was not reached
      73  a file cannot be opened to be written
      74  the output cannot be written
    """

  private static let validate = """
    Checks documents by all rules of the specification, and names what is meant.

    Usage: graphql validate --schema SCHEMA [--separately] [--no-warnings] [--json] FILE...

      --schema SCHEMA  SDL, or the JSON of an introspection
      --separately     take each file by itself, without the fragments of the others
      --no-warnings    print errors only
      --json           print JSON; [{"file", "rule", "message", "severity", "locations"}, ...]

    Takes GraphQL files, Swift files and folders of them. Of a Swift file it reads the string literals
    that are documents, each by itself; a literal that it cannot read is a warning. Of several fragments
    with one name, that of the same document counts, then that of the same file.

    Prints FILE:LINE:COLUMN: error: MESSAGE [Rule] for each error. Exits with 65 if there is one.
    """

  private static let format = """
    Puts documents and schemas into the usual format, and keeps their comments.

    Usage: graphql format [--check] FILE...

      --check  change nothing, but print the files that would change, and exit with 65

    Standard input is printed to standard output. Files keep their modes, and links stay links.
    """

  private static let manifest = """
    Lists operations with their ids, the SHA-256 of each, for a server that is to trust no others.

    Usage: graphql manifest [--format FORMAT] [--output FILE] [--separately] FILE...

      --format FORMAT  apollo, the default: {"format", "version", "operations": [{"id", "name", ...}]};
                       or relay: {"ID": "DOCUMENT", ...}
      --output FILE    where to write it; - for standard output, the default
      --separately     take each file by itself, without the fragments of the others

    Takes the operations of GraphQL files and of folders of them, each with the fragments that it uses,
    from whichever file. It fails, and writes nothing, if one is missing or could be one of several; if
    an operation has no name or that of another one, save for relay; and if there are Swift files with
    sessions, whose documents only the program knows: it writes their manifest itself, with
    GraphQLManifest.
    """

  private static let generate = """
    Writes a session for each operation, in Swift, with a struct for each fragment, and the enums and
    input objects that they need.

    Usage: graphql generate [--config FILE] [--schema SCHEMA] [--output DIR] [--header "NAME: VALUE"]...
                            [--allow-cleartext] [--manifest FILE] [--check] [--once] [--no-warnings]
                            [--json] [FILE...]

      --config FILE           the configuration; graphql.json in this folder, if it is there, by default
      --schema SCHEMA         SDL, or the JSON of an introspection, instead of the configuration's
      --output DIR            where to write, instead of where the configuration says
      --manifest FILE         where to write the manifest of trusted documents, instead of where the
                              configuration says; not one of the files that are read
      --header "NAME: VALUE"  a header of the request for the schema of an endpoint; may be repeated;
                              GRAPHQL_AUTHORIZATION is for credentials, which others could read here
      --allow-cleartext       also ask an http endpoint on another machine
      --check                 change nothing, but print the files that are not up to date
      --once                  write files to be edited: none of them may be there yet, nor the manifest
      --no-warnings           print errors only
      --json                  print JSON; [{"name", "kind", "type", "file", "source", "id"}, ...], or
                              with --check the files that are not up to date, ["PATH", ...]

    Takes GraphQL files, and folders of them, instead of the configuration's documents. Of each file
    NAME.graphql with operations or fragments there is a NAME.graphql.swift, and what they share is in
    Schema.graphql.swift. If anything is wrong, nothing is written. Files that do not change are not
    touched; files that it wrote before, and that are no longer needed, are removed.

    Exits with 65 if something is not valid, or with --check not up to date.
    """

  private static let download = """
    Asks a server for its schema, by introspection. Servers of any age are understood.

    Usage: graphql schema download --endpoint URL --output FILE [--header "NAME: VALUE"]...
                                   [--allow-cleartext]

      --endpoint URL          where the server takes GraphQL requests
      --output FILE           SDL; or the JSON, if the name ends in .json; - for standard output
      --header "NAME: VALUE"  a header of the requests; may be repeated
      --allow-cleartext       also ask an http endpoint on another machine

    Credentials are in the environment variable GRAPHQL_AUTHORIZATION, such as Bearer and a token: it is
    the value of the header Authorization. Others could read them in an argument.
    """

  private static let print = """
    Prints a schema as SDL, with its extensions merged into what they extend.

    Usage: graphql schema print [--sort] [--json] SCHEMA

      --sort  sort types, fields, arguments and values by name
      --json  print the JSON of an introspection instead
    """

  private static let check = """
    Checks a schema by the rules of the specification.

    Usage: graphql schema check [--no-warnings] [--json] SCHEMA

      --no-warnings  print errors only
      --json         print JSON; as graphql validate does

    Warnings are about faults with which the schema can be used all the same. Exits with 65 if there
    are errors.
    """

  private static let diff = """
    Lists what is different in a newer schema, sorted into breaking, dangerous and safe changes.

    Usage: graphql schema diff [--separately] [--json] OLD NEW [FILE...]

      --separately  take each file by itself, without the fragments of the others
      --json        print JSON; [{"impact", "coordinate", "message", "operations"}, ...]

    With documents that are valid for the old schema, in GraphQL and Swift files and folders of them, it
    names the operations that are affected by each change.
    Exits with 65 if something breaks.
    """
}
