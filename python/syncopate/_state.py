"""What a loop has under way, between the library and a checkpoint: entries by name, each with how
ranks share it, and a number or a vector."""
import ctypes
from ctypes import POINTER, byref, c_float

import torch

from . import _library as library
from .functional import memory_at


def read(loop):
    """The same on every rank."""
    handle = library.make('loop_save', loop)
    try:
        entries = {}
        for index in range(library.ask('state_size', handle)):
            entry = library.StateEntry()
            library.call('state_get', handle, index, byref(entry))
            entries[entry.name.decode()] = (entry.sharing, _value(entry))
        return entries
    finally:
        library.ask('state_free', handle)


def write(loop, entries):
    handle = library.make('state_new')
    try:
        for name, (sharing, value) in entries.items():
            _add(handle, name, sharing, value)
        library.call('loop_load', loop, handle)
    finally:
        library.ask('state_free', handle)


def _value(entry):
    if not entry.vector:
        return entry.number
    if entry.length == 0:
        return torch.empty(0)
    address = ctypes.addressof(entry.vector.contents)
    return torch.frombuffer(memory_at(address, 4 * entry.length), dtype=torch.float32).clone()


def _add(handle, name, sharing, value):
    entry = library.StateEntry(name.encode(), sharing)
    if torch.is_tensor(value):
        kept = value.detach().to('cpu', torch.float32).contiguous()
        # A vector without values has an address as well.
        entry.vector = (c_float * 1)() if kept.numel() == 0 else \
            ctypes.cast(kept.data_ptr(), POINTER(c_float))
        entry.length = kept.numel()
    else:
        entry.number = float(value)
    library.call('state_add', handle, byref(entry))
