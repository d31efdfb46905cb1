"""The origin of a soaked fleet: notes of some accounts, by GraphQL, with everything that it has done on record.

`python origin.py` listens on a free port of 127.0.0.1 and prints {"port": 54321} as its first line. It stops when its
standard input closes.

- /graphql: the notes of the account whose token comes with the request. A token lasts for some seconds. A write has an
  id, and is carried out once however often it comes.
- /lock: a POST of {"account": "a0", "seconds": 2} refuses the account, and its tokens, for that time.
- /state: all notes, all writes with how often they came, and the requests of each second.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import strawberry
import uvicorn
from graphql import GraphQLError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from strawberry.extensions import ParserCache, ValidationCache

TOKEN_LIFETIME = 5.0


@strawberry.type
class Note:
    id: strawberry.ID
    account: str
    revision: int = strawberry.field(description="How many writes it has had.")
    last: str = strawberry.field(description="The id of the last one.")


@strawberry.type
class Token:
    value: str
    expires_at: float


@dataclass
class Origin:
    notes: dict[tuple[str, str], Note] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, tuple[str, float]] = field(default_factory=dict)
    locked: dict[str, float] = field(default_factory=dict)
    seconds: dict[int, Counter[str]] = field(default_factory=dict)
    issued: int = 0

    def count(self, what: str) -> None:
        self.seconds.setdefault(int(time.time()), Counter())[what] += 1

    def check_lock(self, account: str) -> None:
        if self.locked.get(account, 0) > time.time():
            raise GraphQLError("The account is locked.", extensions={"code": "UNAUTHENTICATED"})

    def account(self, info: strawberry.Info) -> str:
        scheme, _, token = info.context["request"].headers.get("authorization", "").partition(" ")
        account, end = self.tokens.get(token, ("", 0.0))
        if scheme != "Bearer" or end <= time.time():
            raise GraphQLError("The token is not valid.", extensions={"code": "UNAUTHENTICATED"})
        self.check_lock(account)
        return account

    def note(self, account: str, name: str) -> Note:
        key = (account, name)
        if key not in self.notes:
            self.notes[key] = Note(id=strawberry.ID(name), account=account, revision=0, last="")
        return self.notes[key]


origin = Origin()


@strawberry.type
class Query:
    @strawberry.field
    def note(self, info: strawberry.Info, id: strawberry.ID) -> Note:
        origin.count("query")
        return origin.note(origin.account(info), id)


@strawberry.type
class Mutation:
    @strawberry.mutation
    def write(self, info: strawberry.Info, note: strawberry.ID, id: str) -> Note:
        origin.count("mutation")
        account = origin.account(info)
        current = origin.note(account, note)
        origin.writes[id] += 1
        if origin.writes[id] == 1:
            # Another object, since responses that are being written have the old one.
            current = Note(id=note, account=account, revision=current.revision + 1, last=id)
            origin.notes[account, note] = current
        return current

    @strawberry.mutation
    def sign_in(self, account: str) -> Token:
        origin.count("sign-in")
        origin.check_lock(account)
        origin.issued += 1
        value, end = f"{account}-{origin.issued}", time.time() + TOKEN_LIFETIME
        origin.tokens[value] = (account, end)
        return Token(value=value, expires_at=end)


# All members together ask faster than the same few documents are parsed again and again.
schema = strawberry.Schema(Query, Mutation, extensions=[ParserCache(maxsize=16), ValidationCache(maxsize=16)])
# Refusals are what is asked for here.
logging.getLogger("strawberry.execution").setLevel(logging.CRITICAL)


async def graphql(request: Request) -> JSONResponse:
    body = await request.json()
    result = await schema.execute(
        body.get("query"), body.get("variables"), {"request": request}, operation_name=body.get("operationName")
    )
    answer: dict[str, object] = {"data": result.data}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    is_refused = any((error.extensions or {}).get("code") == "UNAUTHENTICATED" for error in result.errors or [])
    if is_refused:
        return JSONResponse(answer, 401, {"WWW-Authenticate": "Bearer"})
    return JSONResponse(answer)


async def lock(request: Request) -> JSONResponse:
    body = await request.json()
    origin.locked[body["account"]] = time.time() + body["seconds"]
    return JSONResponse({})


async def state(_: Request) -> JSONResponse:
    notes = {f"{account}/{name}": [note.revision, note.last] for (account, name), note in origin.notes.items()}
    return JSONResponse({"notes": notes, "writes": origin.writes, "seconds": origin.seconds})


async def main() -> None:
    routes = [
        Route("/graphql", graphql, methods=["POST"]),
        Route("/lock", lock, methods=["POST"]),
        Route("/state", state),
    ]
    config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="warning", access_log=False, backlog=512)
    config.load()
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"port": server.servers[0].sockets[0].getsockname()[1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
