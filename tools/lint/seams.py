"""Only src/env/posix talks to the operating system; everything else goes through the seams.

Without that, a simulated run could not be repeated from its seed.
"""

import re

from tree import CPP, Finding, line_of

RULE = "seams"
_CALLS = ("open|openat|read|write|pread|pwrite|preadv2?|pwritev2?|readv|writev|fsync|fdatasync|close|"
          "unlink|rename|mkdir|rmdir|socket|connect|bind|listen|accept4?|send|recv|sendmsg|recvmsg|"
          "sendfile|splice|mmap|munmap|ftruncate|fallocate|stat|fstat|lstat|clock_gettime|"
          "gettimeofday|time|fork|exec\\w*|poll|epoll_\\w+|select|nanosleep|usleep|sleep|getrandom|"
          "opendir|readdir|flock|fcntl|ioctl|getaddrinfo|pipe2?|kill|getpid|gethostname")
_FILES = ("exists|create_director\\w+|remove\\w*|rename|copy\\w*|file_size|resize_file|space|status|"
          "is_directory|is_regular_file|last_write_time|directory_iterator|temp_directory_path|"
          "recursive_directory_iterator|current_path|permissions|canonical|absolute")
_RULES = [
    (r"\b\w*_clock::now\b", "take the time from env::Clock"),
    (r"\basio::(steady|system|high_resolution|deadline)_timer\b", "wait through env::Clock"),
    (r"\basio::(basic_stream_socket|ip::tcp::(socket|acceptor|resolver)|local::\w+|posix::\w+|"
     r"signal_set|thread_pool)\b", "connect through env::Network"),
    (r"\bstd::(thread|jthread|async|this_thread)\b", "run on an env::Loop"),
    (r"\bstd::(random_device|rand|srand|time|getenv|system|signal|raise)\b", "use the seams of env"),
    (r"(?<![\w:.>])(rand|srand|random|drand48|clock_gettime|gettimeofday|nanosleep|usleep|fopen|"
     r"getrandom)\s*\(", "use the seams of env"),
    (r"(?<![\w>:])::(" + _CALLS + r")\s*\(", "call the operating system in src/env/posix only"),
    (r"\bstd::(ifstream|ofstream|fstream)\b", "use env::FileSystem"),
    (r"\bfilesystem::(" + _FILES + r")\b", "use env::FileSystem"),
]
_MUTEX = re.compile(r"\bstd::(recursive_|shared_|timed_)?(mutex|condition_variable)\b")
_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*<(thread|fstream|unistd\.h|fcntl\.h|poll\.h|sys/[\w./]+|netinet/[\w./]+|'
    r'arpa/[\w./]+|netdb\.h|signal\.h)>', re.MULTILINE)
_PATTERNS = [(re.compile(pattern), remedy) for pattern, remedy in _RULES]
_MUTEX_ROOMS = ("include/kmirror/base/", "src/base/", "src/env/")


def check(tree):
    """Findings of the product's C++ files; tests have looser needs and other lints."""
    found = []
    for path in tree.select(CPP, "include/", "src/"):
        if path.startswith("src/env/posix/"):
            continue
        code = tree.code(path)
        for pattern, remedy in _PATTERNS:
            found += [Finding(path, line_of(code, m.start()), RULE,
                              f"'{m.group(0).strip()}': {remedy}") for m in pattern.finditer(code)]
        found += [Finding(path, line_of(code, m.start()), RULE,
                          f"<{m.group(1)}>: only src/env/posix needs it")
                  for m in _INCLUDE.finditer(tree.text(path))]
        if not path.startswith(_MUTEX_ROOMS):
            found += [Finding(path, line_of(code, m.start()), RULE,
                              f"'{m.group(0)}': loops talk by messages; a lock needs a decision record")
                      for m in _MUTEX.finditer(code)]
    return found


def _sample(line, path="src/storage/a.cc"):
    return {path: line + "\n"}


SAMPLES = [
    ("clock", _sample("auto t = std::chrono::steady_clock::now();"), 1),
    ("timer", _sample("asio::steady_timer timer(loop);"), 1),
    ("socket", _sample("boost::asio::ip::tcp::socket s(loop);"), 1),
    ("thread", _sample("std::thread t(run);"), 1),
    ("random device", _sample("std::random_device d;"), 1),
    ("rand", _sample("int x = rand();"), 1),
    ("open", _sample("int fd = ::open(path, 0);"), 1),
    ("open in the posix seam", _sample("int fd = ::open(path, 0);", "src/env/posix/file.cc"), 0),
    ("a method called open", _sample("auto f = FileSystem::open(path); f->open(1); fs.open(2);"), 0),
    ("filesystem", _sample("if (std::filesystem::exists(p)) return;"), 1),
    ("filesystem path only", _sample("std::filesystem::path p;"), 0),
    ("ifstream", _sample("std::ifstream in(p);"), 1),
    ("system header", _sample("#include <unistd.h>"), 1),
    ("names of signals", _sample("#include <csignal>"), 0),
    ("a signal handler", _sample("std::signal(SIGTERM, stop);"), 1),
    ("mutex", _sample("std::mutex m;"), 1),
    ("mutex in base", _sample("std::mutex m;", "include/kmirror/base/published.h"), 0),
    ("in a comment", _sample("// not std::thread"), 0),
]
