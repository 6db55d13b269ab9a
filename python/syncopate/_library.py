"""The C API (syncopate.h) by ctypes, which lets go of the GIL in every call. Nothing here knows torch.

Functions of Python's that the library calls may raise: the exception is kept, the library is told
that the call failed, and `check` raises it where the library was called.
"""
import ctypes
import os
import sys
import threading
import weakref
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_float, c_int,
                    c_int32, c_int64, c_size_t, c_uint8, c_uint64, c_void_p)

from . import errors


class Place(Structure):
    _fields_ = [(name, c_int32) for name in
                ('rank', 'size', 'local_rank', 'local_size', 'machine', 'machines', 'cores')]


class Receipt(Structure):
    _fields_ = [('round', c_uint64), ('staleness', c_uint64), ('drops', c_uint64),
                ('weight', c_double), ('waited', c_double), ('waited_for', c_int32),
                ('contributors', c_int32), ('included', c_int32), ('last', c_int32)]


class PartialOptions(Structure):
    _fields_ = [('trigger', c_char_p), ('late', c_char_p), ('grace', c_char_p), ('scale', c_int),
                ('window', c_int32)]


class GroupOptions(Structure):
    _fields_ = [('group_size', c_int32), ('synchronize_every', c_int32), ('rotate', c_int32),
                ('wait_for_all', c_int32), ('grace', c_char_p), ('keep_late', c_int32),
                ('seed', c_uint64)]


class Exchange(Structure):
    _fields_ = [('number', c_uint64), ('staleness', c_uint64), ('dropped', c_uint64),
                ('mass', c_double), ('waited', c_double), ('waited_for', c_int32),
                ('contributors', c_int32), ('agreed', c_int32), ('included', c_int32)]


Call = CFUNCTYPE(c_int, c_void_p)
CallWithAddress = CFUNCTYPE(c_int, c_void_p, c_void_p)
CallWithStep = CFUNCTYPE(c_int, c_void_p, c_void_p, c_double)
CallWithNumber = CFUNCTYPE(c_int, c_void_p, c_double)
CallWithExchange = CFUNCTYPE(c_int, c_void_p, POINTER(Exchange))
Question = CFUNCTYPE(c_int)


class Learner(Structure):
    _fields_ = [('self', c_void_p), ('size', c_size_t), ('has_momentum', c_int32),
                ('read_weights', CallWithAddress), ('keep_weights_at', CallWithAddress),
                ('write_gradient_to', CallWithAddress), ('flush_weights', Call),
                ('flush_gradient', Call), ('step', CallWithStep), ('anticipate', CallWithNumber),
                ('settle', Call), ('exchanged', CallWithExchange)]


class LoopOptions(Structure):
    _fields_ = [('seed', c_uint64), ('samples', c_int64), ('batch', c_int64)]


class StateEntry(Structure):
    _fields_ = [('name', c_char_p), ('sharing', c_int32), ('vector', POINTER(c_float)),
                ('length', c_size_t), ('number', c_double)]


P, OUT = c_void_p, POINTER(c_void_p)
# Functions that return a status, with their arguments.
_CHECKED = {
    'world_from_environment': [OUT],
    'world_place': [P, POINTER(Place)],
    'world_dead': [P, POINTER(c_uint8)],
    'world_set_timeout': [P, c_double],
    'barrier': [P],
    'broadcast': [P, P, c_size_t, c_int],
    'sum_new': [P, c_int, c_int, OUT],
    'sum_run': [P, P, c_size_t, POINTER(Receipt)],
    'partial_new': [P, c_size_t, c_int, POINTER(PartialOptions), OUT],
    'partial_slot': [P, OUT],
    'partial_exchange': [P, c_double, POINTER(c_uint64)],
    'partial_wait': [P, POINTER(c_uint64)],
    'partial_start': [P, c_double],
    'partial_start_empty': [P],
    'partial_ready': [P, POINTER(c_int)],
    'partial_read': [P, OUT, POINTER(Receipt), POINTER(c_uint8)],
    'partial_pass': [P],
    'partial_stop': [P],
    'partial_finished': [P, POINTER(c_int)],
    'partial_leave': [P],
    'group_new': [P, P, c_size_t, c_int, POINTER(GroupOptions), OUT],
    'group_average': [P, P, POINTER(Receipt)],
    'group_leave': [P],
    'loop_new': [P, POINTER(Learner), c_char_p, POINTER(LoopOptions), OUT],
    'loop_begin_step': [P],
    'loop_end_step': [P, c_double],
    'loop_finish': [P],
    'loop_stop': [P],
    'loop_every': [P, c_uint64, Call, P],
    'loop_add_schedule': [P, CallWithNumber, P, POINTER(c_size_t)],
    'loop_advance': [P, c_size_t, POINTER(c_double)],
    'loop_enough': [P, c_double, POINTER(c_int)],
    'loop_choose': [P, POINTER(c_int64), POINTER(c_size_t)],
    'loop_note_losses': [P, POINTER(c_int64), POINTER(c_float), c_size_t],
    'loop_save': [P, OUT],
    'loop_load': [P, P],
    'state_new': [OUT],
    'state_get': [P, c_size_t, POINTER(StateEntry)],
    'state_add': [P, POINTER(StateEntry)],
    'strategy_check': [c_char_p, c_int],
}
# The others, with what they return.
_PLAIN = {
    'what_happened': (c_char_p, []),
    'what_to_do': (c_char_p, []),
    'version': (c_char_p, []),
    'set_interrupt': (None, [Question]),
    'world_free': (None, [P]),
    'world_timeout': (c_double, [P]),
    'sum_free': (None, [P]),
    'partial_free': (None, [P]),
    'group_free': (None, [P]),
    'loop_free': (None, [P]),
    'loop_stopped': (c_int, [P]),
    'loop_rounds': (c_uint64, [P]),
    'loop_parts': (c_int, [P]),
    'state_free': (None, [P]),
    'state_size': (c_size_t, [P]),
    'strategy_name': (c_char_p, [c_size_t]),
    'strategy_summary': (c_char_p, [c_size_t]),
}


class _Raised(threading.local):
    """What functions of Python's have raised in calls of this thread that are under way."""
    exception = None


_raised = _Raised()
_carried = set()  # The functions that the library calls.


def check(status):
    """Raises what a function of Python's has raised, or what the library says."""
    exception, _raised.exception = _raised.exception, None
    if exception is not None:
        raise exception
    if status == 0:
        return
    what = _library.syncopate_what_happened().decode(errors='replace')
    what_to_do = _library.syncopate_what_to_do().decode(errors='replace')
    raise errors.BY_STATUS.get(status, errors.Error)(what, what_to_do)


def callback(kind, function):
    """`function` as the library may call it. Keep what is returned for as long as it may."""
    def carried(*arguments):
        try:
            function(*arguments)
            return 0
        except BaseException as exception:  # Also KeyboardInterrupt and SystemExit.
            _raised.exception = exception
            return 1
    _carried.add(carried)
    return kind(carried)


_abandoned = weakref.WeakSet()  # Threads whose waits are to end.


def abandon(thread):
    """Ends the wait that a thread is in, and those that it begins, as interrupted."""
    _abandoned.add(thread)


def _look_for_signals():
    """Whether to go on waiting. That it runs lets Python run handlers of signals, which may raise:
    then the wait ends with the next question."""
    return _raised.exception is None and threading.current_thread() not in _abandoned


def _keep_what_handlers_raise():
    """A handler of a signal may raise before the `try` above, or in _look_for_signals: ctypes then
    calls sys.unraisablehook, and returns to the library whatever is in its memory."""
    before = sys.unraisablehook

    def hook(unraisable):
        if unraisable.object is _look_for_signals or unraisable.object in _carried:
            _raised.exception = unraisable.exc_value
        else:
            before(unraisable)
    sys.unraisablehook = hook


def _load():
    name = 'libsyncopate_c.so'
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get('SYNCOPATE_C_LIBRARY', os.path.join(folder, name))
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f'{path} cannot be loaded ({error}). Install the package with '
                          f'"pip install ." in a clone of Syncopate, or with "make install".') from error
    for function, arguments in _CHECKED.items():
        getattr(library, 'syncopate_' + function).argtypes = arguments
        getattr(library, 'syncopate_' + function).restype = c_int
    for function, (returned, arguments) in _PLAIN.items():
        getattr(library, 'syncopate_' + function).argtypes = arguments
        getattr(library, 'syncopate_' + function).restype = returned
    return library


_library = _load()


def call(name, *arguments):
    check(getattr(_library, 'syncopate_' + name)(*arguments))


def ask(name, *arguments):
    return getattr(_library, 'syncopate_' + name)(*arguments)


def make(name, *arguments):
    """Calls a function whose last argument is where a handle goes; returns the handle."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle


_interrupt = Question(_look_for_signals)
_keep_what_handlers_raise()
ask('set_interrupt', _interrupt)
