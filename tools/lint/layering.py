"""The rooms' arrows, read from the kmirror_room lines of CMakeLists.txt.

A room includes the public headers of the rooms below it, and its own private headers. Asio stays
out of the rooms whose line does not say ASIO.
"""

import re

from tree import CPP, Finding, line_of

RULE = "layering"
_ROOM = re.compile(r"^kmirror_room\((\w+)\s*([^)]*)\)", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
# The source client serves the mirror only: a server that spoke to sources itself would bypass it.
_DENIED = {("server", "client")}


def read_rooms(cmake):
    """From the text of CMakeLists.txt: {room: set of rooms it may use}, set of rooms with Asio."""
    allowed, asio = {}, set()
    for match in _ROOM.finditer(cmake):
        room, rest = match.group(1), match.group(2)
        words = re.search(r"ROOMS\s+((?:[a-z_]+\s*)+)", rest)
        direct = words.group(1).split() if words else []
        allowed[room] = set(direct).union(*(allowed.get(r, set()) for r in direct))
        if re.search(r"\bASIO\b", rest):
            asio.add(room)
    return allowed, asio


def _place(path):
    """(room, kind) of a file: kind is public, private or test; (None, None) for other files."""
    parts = path.split("/")
    if path.startswith("include/kmirror/") and len(parts) > 3:
        return parts[2], "public"
    if path.startswith("src/") and len(parts) > 2:
        return parts[1], "private"
    if path.startswith("tests/unit/") and len(parts) > 3:
        return parts[2], "test"
    return None, None


def _fault(room, kind, included, allowed):
    """What is wrong with one include, or None."""
    public = re.match(r"kmirror/(\w+)/", included)
    if public:
        other = public.group(1)
        if other == room or kind == "test":
            return None
        if other not in allowed:
            return f"'{included}': there is no room '{other}'"
        if other not in allowed[room] or (room, other) in _DENIED:
            return f"'{included}': {room} may not use {other}"
        return None
    private = re.match(r"(\w+)/", included)
    if private and private.group(1) in allowed:
        if kind == "public":
            return f"'{included}': a public header may not include a private one"
        if private.group(1) != room:
            return f"'{included}': private to {private.group(1)}"
    return None


def check(tree):
    """Findings of all C++ files that belong to a room."""
    allowed, asio = read_rooms(tree.text("CMakeLists.txt"))
    found = []
    for path in tree.select(CPP, "include/", "src/", "tests/unit/"):
        room, kind = _place(path)
        text = tree.text(path)
        if room not in allowed:
            if kind is not None:
                found.append(Finding(path, 1, RULE, f"'{room}' is no room of CMakeLists.txt"))
            continue
        for match in _INCLUDE.finditer(text):
            included = match.group(1)
            fault = _fault(room, kind, included, allowed)
            if included.startswith(("boost/asio", "boost/beast")) and room not in asio and kind != "test":
                fault = f"'{included}': {room} does without Asio (CMakeLists.txt)"
            if fault:
                found.append(Finding(path, line_of(text, match.start()), RULE, fault))
    return found


_CMAKE = """kmirror_room(base LIBRARIES fmt)
kmirror_room(bytes ROOMS base)
kmirror_room(env ROOMS bytes ASIO)
kmirror_room(client ROOMS env ASIO)
kmirror_room(mirror ROOMS client ASIO)
kmirror_room(server ROOMS mirror ASIO)
"""


def _sample(path, include):
    return {"CMakeLists.txt": _CMAKE, path: f'#include "{include}"\n'}


SAMPLES = [
    ("down", _sample("src/env/a.cc", "kmirror/base/result.h"), 0),
    ("own private header", _sample("src/env/a.cc", "env/b.h"), 0),
    ("up", _sample("src/bytes/a.cc", "kmirror/env/clock.h"), 1),
    ("far down through others", _sample("src/server/a.cc", "kmirror/bytes/slice.h"), 0),
    ("the client from the server", _sample("src/server/a.cc", "kmirror/client/connection.h"), 1),
    ("another room's private header", _sample("src/mirror/a.cc", "env/b.h"), 1),
    ("private header in a public one", _sample("include/kmirror/env/a.h", "env/b.h"), 1),
    ("unknown room", _sample("src/env/a.cc", "kmirror/cellar/a.h"), 1),
    ("Asio where it is not wanted", _sample("src/bytes/a.cc", "boost/asio/buffer.hpp"), 1),
    ("a test of the room", _sample("tests/unit/env/a_test.cc", "env/b.h"), 0),
    ("a test of another room", _sample("tests/unit/bytes/a_test.cc", "env/b.h"), 1),
]
