"""Parses and prints documents with graphql-core: a file of JSON lines in, JSON lines out.

A line is a document. The response is {"printed": text}, or {"line": …, "column": …} of the syntax error.
"""

import json
import sys

from graphql import GraphQLSyntaxError, parse, print_ast

for line in open(sys.argv[1], encoding="utf-8"):
    try:
        print(json.dumps({"printed": print_ast(parse(json.loads(line)))}))
    except GraphQLSyntaxError as error:
        place = error.locations[0]
        print(json.dumps({"line": place.line, "column": place.column}))
