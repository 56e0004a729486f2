"""A TCP link between kmirrord and a source that can be cut, stopped and shortened."""

import selectors
import socket
import threading

_PIECE = 1 << 16


class Proxy:
    """Forwards 127.0.0.1:port to 127.0.0.1:`target`, one thread for all connections.

    `cut_after` closes each connection when so many bytes have come back from the target.
    """

    def __init__(self, target=None):
        self.target = target
        self.cut_after = None
        self.cuts = 0
        self._stopped = threading.Event()
        self._flowing = threading.Event()
        self._flowing.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers = {}
        self._back = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stall(self):
        """Nothing passes until flow() is called; connections stay open."""
        self._flowing.clear()

    def flow(self):
        """Everything passes again."""
        self._flowing.set()

    def close(self):
        """Ends the thread and all connections."""
        self._stopped.set()
        self._flowing.set()
        self._thread.join(10)
        for sock in list(self._peers) + [self._listener]:
            sock.close()

    def _run(self):
        while not self._stopped.is_set():
            for key, _ in self._selector.select(0.1):
                self._flowing.wait()
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._peers:
                    self._forward(key.fileobj)

    def _accept(self):
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            near.close()
            return
        self._peers[near], self._peers[far] = far, near
        self._back[far] = 0
        for sock in (near, far):
            self._selector.register(sock, selectors.EVENT_READ)

    def _forward(self, sock):
        try:
            data = sock.recv(_PIECE)
            if data:
                self._peers[sock].settimeout(10)
                self._peers[sock].sendall(data)
        except OSError:
            data = b""
        if sock in self._back:
            self._back[sock] += len(data)
            if self.cut_after is not None and self._back[sock] >= self.cut_after:
                self.cuts += 1
                data = b""
        if not data:
            self._drop(sock)

    def _drop(self, sock):
        peer = self._peers.pop(sock)
        self._peers.pop(peer)
        for one in (sock, peer):
            self._back.pop(one, None)
            self._selector.unregister(one)
            one.close()
