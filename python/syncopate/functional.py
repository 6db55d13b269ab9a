"""Collectives on tensors, for programs that want no optimizer of ours."""
from collections import namedtuple
from ctypes import byref, c_int, c_uint8, c_uint64, c_void_p

import torch

from . import _library as library
from .errors import InvalidArgument
from .world import world as the_world

TYPES = {torch.float32: 0, torch.float64: 1, torch.bfloat16: 2, torch.float16: 3}
SCALES = {'none': 0, 'ranks': 1, 'contributors': 2, 'weight': 3}

Receipt = namedtuple('Receipt', 'round contributors included staleness weight waited waited_for '
                                'drops last')
Receipt.__doc__ = """What a round tells this rank about itself: docs/api.md."""


def _scale(name):
    if name not in SCALES:
        raise InvalidArgument(f"there is no scale '{name}'", 'Use one of ' + ', '.join(SCALES))
    return SCALES[name]


def _type(tensor):
    if tensor.dtype not in TYPES:
        raise InvalidArgument(f'a tensor of {tensor.dtype}',
                              'Give float32, float64, bfloat16 or float16')
    return TYPES[tensor.dtype]


def memory_at(address, bytes, owner=None):
    """Memory of the library's as an object that a tensor can be made of, and that keeps `owner`."""
    memory = (c_uint8 * bytes).from_address(address)
    memory.owner = owner
    return memory


class _OnHost:
    """A tensor's values in contiguous memory of the host, and back."""

    def __init__(self, tensor):
        self.tensor = tensor
        plain = tensor.detach()
        self.values = plain if plain.is_contiguous() and plain.device.type == 'cpu' else \
            plain.contiguous().cpu()

    def write_back(self):
        if self.values.data_ptr() != self.tensor.data_ptr():
            with torch.no_grad():
                self.tensor.copy_(self.values)


class Sums:
    """Sums over all ranks, of any length and type, one collective for each scale and type."""

    def __init__(self, world):
        self._world = world
        self._made = {}
        world._users.add(self)

    def run(self, tensor, scale):
        kind = (_type(tensor), _scale(scale))
        if kind not in self._made:
            self._made[kind] = library.make('sum_new', self._world._handle, *kind)
        receipt = library.Receipt()
        library.call('sum_run', self._made[kind], tensor.data_ptr(), tensor.numel(), byref(receipt))
        return receipt

    def close(self):
        while self._made:
            library.ask('sum_free', self._made.popitem()[1])


def sums_of(world):
    if not hasattr(world, 'sums'):
        world.sums = Sums(world)
    return world.sums


def allreduce(tensor, scale='none', world=None):
    """Replaces the values by their sum over all live ranks, or by the mean (`scale='ranks'` or
    `'contributors'`). Returns the tensor."""
    world = world or the_world()
    host = _OnHost(tensor)
    sums_of(world).run(host.values, scale)
    host.write_back()
    return tensor


def broadcast(tensor, root=0, world=None):
    """Replaces the values by those of rank `root`, bit for bit. Returns the tensor."""
    world = world or the_world()
    host = _OnHost(tensor)
    world.broadcast_bytes(host.values.data_ptr(), host.values.numel() * host.values.element_size(),
                          root)
    host.write_back()
    return tensor


def barrier(world=None):
    """Returns when every live rank has called it."""
    (world or the_world()).barrier()


class PartialAllreduce:
    """An allreduce whose rounds start without waiting for all ranks.

        gradients = PartialAllreduce(n, trigger='majority')
        gradients.slot().copy_(values)
        for mean, receipt in gradients.exchange():   # usually one; more after a long step
            ...
        gradients.finish(apply)

    The tensors of rounds are memory that all ranks read: do not write to them, and copy what is to
    outlive the loop."""

    def __init__(self, elements, dtype=torch.float32, trigger='all', late='carry', grace='off',
                 scale='ranks', window=8, world=None):
        self._handle = None
        self._world = world or the_world()
        self._dtype = dtype
        self._elements = elements
        self._bytes = elements * torch.empty((), dtype=dtype).element_size()
        options = library.PartialOptions(trigger.encode(), late.encode(), grace.encode(),
                                         _scale(scale), window)
        self._handle = library.make('partial_new', self._world._handle, elements,
                                    _type(torch.empty(0, dtype=dtype)), byref(options))
        self._world._users.add(self)

    def _tensor(self, address):
        return torch.frombuffer(memory_at(address, self._bytes, self), dtype=self._dtype)

    def slot(self):
        """Where the values of this step go. Ask again after each exchange."""
        address = c_void_p()
        library.call('partial_slot', self._handle, byref(address))
        return self._tensor(address.value)

    def exchange(self, weight=1.0):
        """Deposits the slot; the rounds that this rank has not passed, with their receipts."""
        count = c_uint64()
        library.call('partial_exchange', self._handle, weight, byref(count))
        return self._rounds(count.value)

    def start(self, weight=1.0):
        library.call('partial_start', self._handle, weight)

    def start_empty(self):
        library.call('partial_start_empty', self._handle)

    def ready(self):
        answer = c_int()
        library.call('partial_ready', self._handle, byref(answer))
        return bool(answer.value)

    def wait(self):
        count = c_uint64()
        library.call('partial_wait', self._handle, byref(count))
        return self._rounds(count.value)

    def _rounds(self, count):
        for _ in range(count):
            values, told = c_void_p(), library.Receipt()
            members = (c_uint8 * self._world.size)()
            library.call('partial_read', self._handle, byref(values), byref(told), members)
            contributors = [rank for rank, member in enumerate(members) if member]
            yield self._tensor(values.value), Receipt(
                told.round, contributors, bool(told.included), told.staleness, told.weight,
                told.waited, told.waited_for if told.waited_for >= 0 else None, told.drops,
                bool(told.last))
            library.call('partial_pass', self._handle)

    def finish(self, apply):
        """Follows the others' rounds to the end, which takes everything that was carried."""
        library.call('partial_stop', self._handle)
        done = c_int()
        while True:
            library.call('partial_finished', self._handle, byref(done))
            if done.value:
                return
            for values, receipt in self.wait():
                apply(values, receipt)

    def leave(self):
        library.call('partial_leave', self._handle)

    def close(self):
        if self._handle is not None:
            library.ask('partial_free', self._handle)
            self._handle = None

    __del__ = close


def partial_allreduce(elements, **options):
    """A PartialAllreduce of so many elements."""
    return PartialAllreduce(elements, **options)


class GroupAverage:
    """Model averaging in rotating groups that does not wait (WAGMA): `average(tensor)` replaces the
    values by the mean over this step's group."""

    def __init__(self, initial, group_size=0, synchronize_every=10, rotate=True,
                 wait_for_all=False, grace='off', late='keep', seed=1, world=None):
        self._handle = None
        self._world = world or the_world()
        if late not in ('keep', 'average'):
            raise InvalidArgument(f"there is no late policy '{late}'", 'Use keep or average')
        host = _OnHost(initial)
        options = library.GroupOptions(group_size, synchronize_every, rotate, wait_for_all,
                                       grace.encode(), late == 'keep', seed)
        self._elements, self._dtype = host.values.numel(), host.values.dtype
        self._handle = library.make('group_new', self._world._handle, host.values.data_ptr(),
                                    self._elements, _type(host.values), byref(options))
        self._world._users.add(self)

    def average(self, tensor):
        if tensor.numel() != self._elements or tensor.dtype != self._dtype:
            raise InvalidArgument(
                f'a tensor of {tensor.numel()} {tensor.dtype}, where {self._elements} '
                f'{self._dtype} are due', 'Give the weights that it was made with')
        host, told = _OnHost(tensor), library.Receipt()
        library.call('group_average', self._handle, host.values.data_ptr(), byref(told))
        host.write_back()
        return told

    def leave(self):
        library.call('group_leave', self._handle)

    def close(self):
        if self._handle is not None:
            library.ask('group_free', self._handle)
            self._handle = None

    __del__ = close


def group_average(initial, **options):
    """A GroupAverage that starts from these weights."""
    return GroupAverage(initial, **options)
