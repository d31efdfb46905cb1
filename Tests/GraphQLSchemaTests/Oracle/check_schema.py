"""Checks schemas with graphql-core: a file of JSON strings in, a line for each out, true if the schema is valid."""

import json
import sys

from graphql import GraphQLError, build_schema, validate_schema

for line in open(sys.argv[1], encoding="utf-8"):
    try:
        is_valid = not validate_schema(build_schema(json.loads(line)))
    except (GraphQLError, TypeError):
        is_valid = False
    print(json.dumps(is_valid), flush=True)
