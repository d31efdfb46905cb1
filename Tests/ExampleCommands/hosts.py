"""A proxy for HTTPS behind which hosts are GraphQL servers with made-up data, so that commands run with their addresses as
they stand.

    hosts.py FOLDER HOST=SCHEMA...

It writes its certificate to FOLDER/cert.pem, prints the port on 127.0.0.1, and ends with its input.
"""

import json
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import graphql


def made_up(kind):
    """A value of a type; an object is made up when its fields are asked for."""
    if graphql.is_non_null_type(kind):
        return made_up(kind.of_type)
    if graphql.is_list_type(kind):
        return [made_up(kind.of_type)]
    if graphql.is_enum_type(kind):
        return next(iter(kind.values.values())).value
    scalars = {"Int": 1, "Float": 1.5, "Boolean": False, "ID": "1", "URI": "https://host.example/1",
               "DateTime": "2026-01-31T12:00:00Z"}
    return scalars.get(kind.name, "made up") if graphql.is_scalar_type(kind) else {}


def respond(schema, request):
    result = graphql.graphql_sync(
        schema,
        request["query"],
        variable_values=request.get("variables"),
        operation_name=request.get("operationName"),
        field_resolver=lambda _, info, **__: made_up(info.return_type),
        type_resolver=lambda _, info, kind: info.schema.get_possible_types(kind)[0].name,
    )
    return json.dumps(result.formatted).encode()


class Host(BaseHTTPRequestHandler):
    """The requests on a connection to a host."""

    protocol_version = "HTTP/1.1"
    schema = None

    def do_POST(self):
        body = respond(self.schema, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_CONNECT(self):
        schema = self.server.schemas.get(self.path.removesuffix(":443"))
        if schema is None:
            self.send_error(502, "no such host")
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with self.server.context.wrap_socket(self.connection, server_side=True) as connection:
            type("SchemaHost", (Host,), {"schema": schema})(connection, self.client_address, self.server)

    def log_message(self, *_):
        pass


def main():
    folder, *pairs = sys.argv[1:]
    hosts = dict(pair.split("=", 1) for pair in pairs)
    certificate, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    names = ",".join(f"DNS:{host}" for host in hosts)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=hosts", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", certificate],
        check=True, stderr=subprocess.DEVNULL)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(certificate, key)
    server.schemas = {host: graphql.build_schema(Path(path).read_text("utf-8")) for host, path in hosts.items()}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()
