"""A browser that follows the timeline of user 0 and takes nothing of it: `python deaf_browser.py PORT COOKIE`. It prints
`connected`, and ends with its standard input.
"""

import socket
import sys

browser = socket.socket()
browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
browser.connect(("127.0.0.1", int(sys.argv[1])))
head = f"GET /timelines/0/events HTTP/1.1\r\nHost: localhost\r\nCookie: {sys.argv[2]}\r\n\r\n"
browser.sendall(head.encode())
browser.recv(1)
print("connected", flush=True)
sys.stdin.read()
