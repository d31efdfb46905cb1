"""Validates documents with graphql-core, one rule at a time: a file of JSON lines in, JSON lines out.

A line is {"schema": SDL, "document": text}; schemas that come again are built once. The response is the list of
[rule, [[line, column], ...]] for each error, or null if the document does not parse.
"""

import json
import sys
from functools import cache

from graphql import GraphQLError, build_schema, parse, validate
from graphql.validation import specified_rules

build = cache(build_schema)


def name(rule):
    return rule.__name__.removesuffix("Rule")


for line in open(sys.argv[1], encoding="utf-8"):
    request = json.loads(line)
    try:
        document = parse(request["document"])
    except GraphQLError:
        print("null", flush=True)
        continue
    schema = build(request["schema"])
    errors = []
    for rule in specified_rules:
        for error in validate(schema, document, [rule], max_errors=1000):
            places = [[place.line, place.column] for place in error.locations or []]
            errors.append([name(rule), places])
    print(json.dumps(errors), flush=True)
