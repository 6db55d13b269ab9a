"""Collectives of c10d on a thread of their own: a queue for each world, and a Work for each call."""
import atexit
import collections
import queue
import threading

import torch
from torch._C._distributed_c10d import Work as _Work

from . import _library as library
from .errors import Timeout

# C++ that holds a Work calls its Python part, which must not be gone by then: the last ones are kept.
KEPT_WORKS = 64
# How long the end of the program waits for a thread that is told to stop.
_SECONDS_TO_STOP = 2.0


class Work(_Work):
    """One call. (A Work that torch makes of a future would take an exception for a result.)"""

    def __init__(self, action, result):
        super().__init__()
        self._action, self._result = action, result
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._error = self._started = self._future = None

    def run(self):
        try:
            with torch.no_grad():
                self._action()
        except BaseException as error:  # It is raised where the call is waited for.
            self._error = error
        self._action = None
        with self._lock:
            self._done.set()
            started = self._started
        if started is not None:
            started.set_result(None)

    def wait(self, timeout=None):
        seconds = timeout.total_seconds() if timeout is not None else 0
        if not self._done.wait(seconds if seconds > 0 else None):
            raise Timeout(f'a collective was not done after {seconds} s',
                          'Look for a rank that has not called it')
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self._done.is_set()

    def is_success(self):
        return self._done.is_set() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        self.wait()
        return self._result

    def get_future(self):
        """For C++, which sees an exception only where a function of the future's raises it."""
        with self._lock:
            if self._future is not None:
                return self._future
            started = self._started = torch.futures.Future()
            self._future = started.then(self._outcome)
            done = self._done.is_set()
        if done:
            started.set_result(None)
        return self._future

    getFuture = get_future

    def _outcome(self, _):
        if self._error is not None:
            raise self._error
        return self._result


class Worker:
    """Runs what is given to it, one after the other."""

    def __init__(self):
        self._queue = queue.SimpleQueue()
        self._kept = collections.deque(maxlen=KEPT_WORKS)
        self._thread = threading.Thread(target=self._serve, name='syncopate c10d', daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def submit(self, action, result):
        work = Work(action, result)
        self._kept.append(work)
        self._queue.put(work)
        return work

    def _serve(self):
        while True:
            work = self._queue.get()
            if work is None:
                return
            work.run()
            del work

    def stop(self):
        """A call that still waits for others ends as interrupted: the world is closed next."""
        atexit.unregister(self.stop)
        if not self._thread.is_alive():
            return
        self._queue.put(None)
        library.abandon(self._thread)
        self._thread.join(_SECONDS_TO_STOP)
