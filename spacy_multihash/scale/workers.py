"""Call a function on many items: in this process, in processes of this machine, or on Dask.

The same function and the same items give the same results wherever they run, in any order.
"""

import os
import pickle
import signal
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Optional, TypeVar

# How often to try an item in total.
TRIES = 3
# They limit the threads of BLAS, OpenMP and our kernels in new processes.
THREADS = (
    "SPACY_MULTIHASH_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

T = TypeVar("T")
R = TypeVar("R")
# The index of each item, whether it succeeded, and its result or error message.
Outcomes = Generator[tuple[int, bool, Any], None, None]


class ItemError(ValueError):
    """An item failed on every try: its name, and the last error."""

    def __init__(self, name: str, reason: str) -> None:
        """Keep the name and the reason."""
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        """Name the item and the reason."""
        return f"{self.name} failed: {self.reason}"


class Workers(ABC):
    """Processes that work on one item at a time each.

    Functions, items and results are pickled, so functions must belong to a module, or be a
    `functools.partial` of a module's function. An item that fails is tried again twice.
    """

    def imap(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        *,
        names: Sequence[str],
        on_error: Optional[Callable[[ItemError], None]] = None,
    ) -> Iterator[tuple[int, R]]:
        """Yield the index of each item and its result, as they finish.

        Only a few items are started ahead of the caller.

        names (Sequence[str]): The name of each item, for error messages.
        on_error (Callable): Called with the error of each failed item; the others go on.

        Raises ItemError for the first failed item, if there is no on_error, and ConnectionError if
        the Dask scheduler is lost.
        """
        with closing(self._run(function, items)) as outcomes:
            for i, succeeded, result in outcomes:
                if succeeded:
                    yield i, result
                elif on_error is None:
                    raise ItemError(names[i], result)
                else:
                    on_error(ItemError(names[i], result))

    @abstractmethod
    def _run(self, function: Callable[[T], R], items: Sequence[T]) -> Outcomes:
        """Call a function on items."""


def fold(results: Iterable[R], merge: Callable[[R, R], R]) -> R:
    """Merge results as they arrive. The order must not matter.

    Results of equal size are merged, like the bits of a counter: each is merged few times, and the
    number of results in memory is logarithmic.
    """
    stack: list[tuple[int, R]] = []
    for result in results:
        size = 1
        while stack and stack[-1][0] == size:
            result = merge(stack.pop()[1], result)
            size *= 2
        stack.append((size, result))
    _, merged = stack.pop()
    while stack:
        merged = merge(stack.pop()[1], merged)
    return merged


def attempt(function: Callable[[T], R], item: T) -> tuple[bool, Any]:
    """Call a function, and return whether it succeeded, and its result or error message."""
    try:
        return True, function(item)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


class Here(Workers):
    """This process, which works on items one by one."""

    def _run(self, function: Callable[[T], R], items: Sequence[T]) -> Outcomes:
        for i, item in enumerate(items):
            for _ in range(TRIES):
                succeeded, result = attempt(function, item)
                if succeeded:
                    break
            yield i, succeeded, result


class Processes(Workers):
    """Processes on this machine, with a thread each.

    A killed process is replaced, and its item is tried again.
    """

    def __init__(self, count: int) -> None:
        """Set the number of processes."""
        self._count = count
        self._idle: list[_Process] = []

    def _run(self, function: Callable[[T], R], items: Sequence[T]) -> Outcomes:
        todo = deque((i, 1) for i in range(len(items)))
        running: dict[Any, tuple[_Process, int, int]] = {}
        try:
            while todo or running:
                while todo and len(running) < self._count:
                    process = self._idle.pop() if self._idle else _Process()
                    i, tries = todo.popleft()
                    running[process.connection] = process, i, tries
                    process.send(function, items[i])
                for connection in wait([*running]):
                    process, i, tries = running.pop(connection)
                    succeeded, result = process.receive()
                    if process.is_alive:
                        self._idle.append(process)
                    if succeeded or tries == TRIES:
                        yield i, succeeded, result
                    else:
                        todo.append((i, tries + 1))
        finally:
            for process, _, _ in running.values():
                process.stop()

    def close(self) -> None:
        """Stop all processes."""
        while self._idle:
            self._idle.pop().stop()


class _Process:
    """A process that receives functions with an item, and sends results back."""

    def __init__(self) -> None:
        # Forked processes could inherit locks of threads that they don't have.
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.is_alive = True
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        self._process.start()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        theirs.close()  # the connection ends with the process

    def send(self, function: Callable, item: object) -> None:
        try:
            self.connection.send_bytes(pickle.dumps((function, item)))
        except ConnectionError:
            pass  # it was killed: `receive` says so

    def receive(self) -> tuple[bool, Any]:
        """Return whether a call succeeded, and its result or error."""
        try:
            return pickle.loads(self.connection.recv_bytes())
        except (EOFError, ConnectionError):
            self.stop()
            code = self._process.exitcode
            return False, f"the process was killed (exit code {code}), maybe for lack of memory"

    def stop(self) -> None:
        self.is_alive = False
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection) -> None:
    """Work on items until the other end of the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent process handles Ctrl-C
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        # Pickling a function, an item or a result may fail.
        succeeded, answer = attempt(_answer, message)
        connection.send_bytes(answer if succeeded else pickle.dumps((False, answer)))


def _answer(message: bytes) -> bytes:
    return pickle.dumps(attempt(*pickle.loads(message)))
