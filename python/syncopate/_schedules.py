"""Learning-rate schedulers that follow the rounds instead of this rank's steps.

A scheduler of torch's counts the calls of its step(). Here a call is counted, travels with the
rank's next deposit, and the scheduler moves when the ranks have called it once more in the mean: so
every rank applies a round at the same rate, whichever rank calls, and whenever.
"""
import functools
import gc
import inspect
import threading
from ctypes import byref, c_double, c_size_t

import torch.optim.lr_scheduler as schedulers

from . import _library as library
from .errors import InvalidArgument

_BASES = (getattr(schedulers, 'LRScheduler', None) or schedulers._LRScheduler,
          schedulers.ReduceLROnPlateau, schedulers.ChainedScheduler)
_lock = threading.Lock()
_watched = set()  # The classes whose making and step() are noticed.


class _Moving(threading.local):
    """Whether a step() that is called now is part of another, or of ours."""
    depth = 0


_moving = _Moving()


def _classes(base):
    yield base
    for derived in base.__subclasses__():
        yield from _classes(derived)


def watch():
    """Notices schedulers of optimizers that are distributed. Others are as they were. Called whenever
    an optimizer becomes distributed, as there may be new classes."""
    with _lock:
        for base in _BASES:
            for kind in _classes(base):
                if kind in _watched:
                    continue
                _watched.add(kind)
                if 'step' in vars(kind):
                    kind.step = _counting(vars(kind)['step'])
                if '__init__' in vars(kind):
                    kind.__init__ = _noticed(vars(kind)['__init__'])


def _noticed(make):
    @functools.wraps(make)
    def noticed(self, *arguments, **named):
        make(self, *arguments, **named)
        schedules = _schedules_of(self)
        if schedules is not None:
            schedules.add(self)
    return noticed


def _counting(step):
    @functools.wraps(step)
    def counting(self, *arguments, **named):
        schedules = _schedules_of(self)
        schedule = schedules.find(self) if schedules is not None else None
        # It is another optimizer's, or is being made, or it is part of another.
        if schedule is None or _moving.depth > 0:
            _moving.depth += 1
            try:
                return step(self, *arguments, **named)
            finally:
                _moving.depth -= 1
        schedule.call(*arguments, **named)
    return counting


def _schedules_of(scheduler):
    optimizer = getattr(scheduler, 'optimizer', None)
    if optimizer is None and getattr(scheduler, '_schedulers', None):
        optimizer = scheduler._schedulers[0].optimizer
    return getattr(optimizer, '_schedules', None)


class Schedule:
    """One scheduler of a distributed optimizer."""

    def __init__(self, scheduler, loop, moved):
        self.scheduler = scheduler  # Also keeps its identity from becoming another's.
        self._loop = loop
        self._moved = moved
        self._measured = 'metrics' in inspect.signature(scheduler.step).parameters
        self._callback = library.callback(library.CallWithNumber, lambda _, value: self._move(value))
        number = c_size_t()
        library.call('loop_add_schedule', loop, self._callback, None, byref(number))
        self._number = number.value

    def call(self, metrics=None, epoch=None):
        if not self._measured and epoch is None:
            metrics, epoch = None, metrics
        if epoch is not None:
            raise InvalidArgument('a scheduler was told an epoch',
                                  'Call its step() without one: it follows the rounds')
        value = byref(c_double(float(metrics))) if self._measured else None
        library.call('loop_advance', self._loop, self._number, value)

    def _move(self, value):
        _moving.depth += 1
        try:
            self.scheduler.step(value) if self._measured else self.scheduler.step()
        finally:
            _moving.depth -= 1
        self._moved()


class Schedules:
    """The schedulers of one optimizer, in the order in which they were made: the same on every rank,
    as all of them run the same program."""

    def __init__(self, loop, optimizer, moved):
        self._loop = loop
        self._moved = moved
        self._known = {}
        for made_before in gc.get_objects():
            # By its type: isinstance() asks an object for its class, and some of torch's then warn.
            if issubclass(type(made_before), _BASES) and \
                    getattr(made_before, 'optimizer', None) is optimizer:
                self.add(made_before)

    def add(self, scheduler):
        if id(scheduler) not in self._known:
            self._known[id(scheduler)] = Schedule(scheduler, self._loop, self._moved)

    def find(self, scheduler):
        return self._known.get(id(scheduler))
