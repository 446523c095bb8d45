"""Requests a gzip response, decompresses its body with zlib or gzip, and writes the text to standard output."""

import gzip
import http.client
import ssl
import sys
import urllib.parse
import zlib


def body(url, ca):
    """Returns the response, whose body is not decompressed."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=ssl.create_default_context(cafile=ca))
    connection.request("GET", f"{parts.path}?{parts.query}", headers={"Accept": "application/json", "Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    if answer.status != 200 or answer.getheader("Content-Encoding") != "gzip":
        sys.exit(f"{answer.status}, {answer.getheader('Content-Encoding')}")
    return answer


def with_zlib(answer):
    """Yields the decompressed body in pieces as they arrive, one gzip member after the other."""
    member = zlib.decompressobj(wbits=31)
    while piece := answer.read1(1 << 14):
        while piece:
            yield member.decompress(piece)
            piece = member.unused_data
            if member.eof:
                member = zlib.decompressobj(wbits=31)


def with_gzip(answer):
    """Yields the decompressed body in pieces, read as a gzip file."""
    with gzip.GzipFile(fileobj=answer) as file:
        while piece := file.read(1 << 16):
            yield piece


for piece in {"zlib": with_zlib, "gzip": with_gzip}[sys.argv[1]](body(sys.argv[3], sys.argv[2])):
    sys.stdout.buffer.write(piece)
