"""Prints schemas with graphql-core: a file of JSON lines {"sdl"} or {"introspection"} in, a line for each out: the
schema in SDL, sorted by name, as a JSON string."""

import json
import sys

from graphql import (
    build_client_schema,
    build_schema,
    lexicographic_sort_schema,
    parse,
    print_ast,
    print_schema,
)

for line in open(sys.argv[1], encoding="utf-8"):
    request = json.loads(line)
    if request.get("sdl"):
        schema = build_schema(request["sdl"])
    else:
        schema = build_client_schema(request["introspection"])
    text = print_schema(lexicographic_sort_schema(schema))
    print(json.dumps(print_ast(parse(text))), flush=True)
