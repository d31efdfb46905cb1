"""Executes operations with graphql-core: a file of JSON lines in, a line for each out.

A line is {"schema", "document", "variables", "data"}. A field resolves to the member of its name; {"$error": text} fails
it, and {"$arguments": true} resolves it to its arguments as a text. A response is {"data", "errors": [[path, places]]}.
"""

import json
import sys
from functools import cache

from graphql import GraphQLError, build_schema, execute_sync, parse

build = cache(build_schema)


def text(value):
    """A text that is the same in both languages: keys sorted, all numbers as floating-point numbers."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value))
    return json.dumps(value)


def resolve(source, info, **arguments):
    value = source.get(info.field_name) if isinstance(source, dict) else None
    if isinstance(value, dict) and "$error" in value:
        raise GraphQLError(value["$error"])
    if isinstance(value, dict) and "$arguments" in value:
        return text(arguments)
    return value


for line in open(sys.argv[1], encoding="utf-8"):
    request = json.loads(line)
    result = execute_sync(
        build(request["schema"]),
        parse(request["document"]),
        root_value=request["data"],
        variable_values=request["variables"],
        field_resolver=resolve,
    )
    errors = [
        [error.path, [[place.line, place.column] for place in error.locations or []]]
        for error in result.errors or []
    ]
    print(json.dumps({"data": result.data, "errors": errors}), flush=True)
