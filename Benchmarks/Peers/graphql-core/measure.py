"""Does a piece of work with graphql-core, and prints the nanoseconds of processor time that it takes once.

measure.py parse|print|schema FILE COUNT
measure.py validate FILE COUNT SCHEMA
"""

import sys
import time

from graphql import build_ast_schema, parse, print_ast, validate
from graphql.type import validate_schema

work, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = open(path, encoding="utf-8").read()
document = parse(text)
if work == "validate":
    schema = build_ast_schema(parse(open(sys.argv[4], encoding="utf-8").read()))
    validate_schema(schema)


def once():
    if work == "parse":
        parse(text)
    elif work == "print":
        print_ast(document)
    elif work == "schema":
        assert not validate_schema(build_ast_schema(document))
    else:
        validate(schema, document)


once()
start = time.process_time_ns()
for _ in range(count):
    once()
print((time.process_time_ns() - start) / count)
