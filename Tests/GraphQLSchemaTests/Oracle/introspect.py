"""Introspects schemas with graphql-core: a file of JSON strings (SDL) in, a line for each out: the response's JSON."""

import json
import sys

from graphql import build_schema, introspection_from_schema

for line in open(sys.argv[1], encoding="utf-8"):
    schema = build_schema(json.loads(line))
    data = introspection_from_schema(
        schema,
        specified_by_url=True,
        directive_is_repeatable=True,
        schema_description=True,
        input_value_deprecation=True,
        one_of=True,
    )
    print(json.dumps({"data": data}), flush=True)
