"""Exact collectives on tensors of the host: each needs every rank, and a rank that is lost is an error.

Sums of floats and broadcasts are the world's. The others are made of these, bit for bit: sums of
integers as sums of float64, which hold them; all else of each rank's values, one rank after the other.
"""
import collections
import contextlib

import torch

from .errors import RankLost, Timeout
from .functional import TYPES, Sums

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
# Up to so many bytes of all ranks together, one sum is quicker than a broadcast of each rank.
_BYTES_BY_SUM = 4096

_waits = collections.defaultdict(float)


def waits():
    """Seconds that sums of this rank have waited, by the rank that came last."""
    return dict(_waits)


_FOLDS = {
    'SUM': lambda into, values: into.add_(values),
    'PRODUCT': lambda into, values: into.mul_(values),
    'MIN': lambda into, values: torch.minimum(into, values, out=into),
    'MAX': lambda into, values: torch.maximum(into, values, out=into),
    'BAND': lambda into, values: into.bitwise_and_(values),
    'BOR': lambda into, values: into.bitwise_or_(values),
    'BXOR': lambda into, values: into.bitwise_xor_(values),
}
_OF_BOOLS = {'SUM': 'BOR', 'MAX': 'BOR', 'PRODUCT': 'BAND', 'MIN': 'BAND'}


def can_reduce(dtype, operation):
    if operation == 'AVG':
        return dtype in TYPES
    if operation in ('BAND', 'BOR', 'BXOR'):
        return dtype == torch.bool or dtype in _INTEGERS
    return operation in _FOLDS and (dtype == torch.bool or dtype in TYPES or dtype in _INTEGERS)


def as_bytes(tensor):
    """The memory of a contiguous tensor."""
    return tensor.reshape(-1).view(torch.uint8)


class Exact:
    """The collectives of one world. All functions wait; all ranks call them in the same order."""

    def __init__(self, world):
        self.world = world
        self._sums = Sums(world)
        world._users.discard(self._sums)  # Closed here, when no thread is in them any more.

    def close(self):
        self._sums.close()

    def _lost(self):
        dead = self.world.dead
        who = 'a rank has left' if not dead else \
            f'rank {dead[0]} has died' if len(dead) == 1 else \
            f"ranks {', '.join(map(str, dead))} have died"
        return RankLost(f'{who}, and an exact collective needs all {self.world.size} ranks',
                        'Start the job again from a checkpoint, or train with a strategy that goes '
                        'on without a rank')

    @contextlib.contextmanager
    def within(self, seconds):
        """Calls wait so long at most, instead of as long as the world says."""
        before, self.world.timeout = self.world.timeout, seconds
        try:
            yield
        finally:
            self.world.timeout = before

    @contextlib.contextmanager
    def _in_words_of_torch(self):
        """What the library advises is for programs that have called it themselves."""
        try:
            yield
        except RankLost:
            raise self._lost() from None
        except Timeout as error:
            raise Timeout(f'The timeout of a process group was reached: {error.what_happened}',
                          'Look what that rank does, or give init_process_group a longer timeout'
                          ) from None

    def _sum(self, values, scale='none'):
        with self._in_words_of_torch():
            receipt = self._sums.run(values, scale)
        if receipt.waited_for >= 0:
            _waits[receipt.waited_for] += receipt.waited
        if receipt.contributors < self.world.size:
            raise self._lost()

    def barrier(self):
        """As a sum, which knows whether all have come: a barrier of the world's waits for the living."""
        self._sum(torch.zeros(1))

    def broadcast(self, tensor, root):
        """The tensor need not be contiguous."""
        values = tensor.contiguous()
        self._broadcast(values, root)
        if values is not tensor and root != self.world.rank:
            tensor.copy_(values)

    def _broadcast(self, values, root):
        if values.numel() > 0:
            with self._in_words_of_torch():
                self.world.broadcast_bytes(values.data_ptr(),
                                           values.numel() * values.element_size(), root)
        if self.world.dead:
            raise self._lost()

    def allreduce(self, tensor, operation):
        if tensor.numel() == 0:
            return
        values = tensor.contiguous()
        if operation in ('SUM', 'AVG') and values.dtype in TYPES:
            self._sum(values, 'none' if operation == 'SUM' else 'ranks')
        elif operation == 'SUM' and values.dtype in _INTEGERS:
            values = self._sum_of_integers(values)
        else:
            values = self._fold(values, operation)
        if values is not tensor:
            tensor.copy_(values)

    def _sum_of_integers(self, values):
        """Halves of 32 bits are summed apart, and their sums have room in float64. What does not fit
        into the type wraps, as with integers."""
        if values.dtype != torch.int64:
            sums = values.double()
            self._sum(sums)
            return sums.long().to(values.dtype)
        halves = torch.stack((values >> 32, values & 0xffffffff)).double()
        self._sum(halves)
        high, low = halves.long()
        return (high << 32) + low

    def _fold(self, values, operation):
        """In the order of the ranks, so that all have equal bits."""
        if values.dtype == torch.bool:
            operation = _OF_BOOLS.get(operation, operation)
        result = None
        for _, others in self.each(values):
            if result is None:
                result = others.clone()
            else:
                _FOLDS[operation](result, others)
        return result

    def each(self, mine, lengths=None):
        """Each rank and its values, to be copied where they are kept. `lengths`: how many
        each rank has, where they are not equally many; `mine` is then flat."""
        mine = mine.contiguous()
        if lengths is None and 0 < as_bytes(mine).numel() * self.world.size <= _BYTES_BY_SUM:
            yield from self._each_by_sum(mine)
            return
        for root in range(self.world.size):
            values = mine
            if root != self.world.rank:
                values = torch.empty_like(mine) if lengths is None else mine.new_empty(lengths[root])
            self._broadcast(values, root)
            yield root, values

    def _each_by_sum(self, mine):
        """A row for each rank, with its bytes as floats: the others add zeros."""
        own = as_bytes(mine)
        rows = torch.zeros(self.world.size, own.numel())
        rows[self.world.rank] = own
        self._sum(rows)
        for root, row in enumerate(rows.to(torch.uint8)):
            yield root, row.view(mine.dtype).view(mine.shape)

    def gather(self, mine, places, root=None):
        """Each rank's values to its place: on all ranks, or on `root` alone."""
        for rank, values in self.each(mine):
            if root is None or root == self.world.rank:
                places[rank].copy_(values.view(places[rank].shape))

    def scatter(self, place, parts, root):
        """`parts`: a tensor for each rank, on `root` alone."""
        values = torch.stack([part.reshape(-1) for part in parts]) if root == self.world.rank else \
            place.new_empty((self.world.size, place.numel()))
        self._broadcast(values, root)
        place.copy_(values[self.world.rank].view(place.shape))

    def reduce(self, tensor, operation, root):
        """Other ranks keep what they had."""
        result = tensor.clone(memory_format=torch.contiguous_format)
        self.allreduce(result, operation)
        if root == self.world.rank:
            tensor.copy_(result)

    def reduce_scatter(self, place, parts, operation):
        """`parts`: a tensor for each rank, of any length."""
        flat = torch.cat([part.reshape(-1) for part in parts])
        self.allreduce(flat, operation)
        begin = sum(part.numel() for part in parts[:self.world.rank])
        place.copy_(flat[begin:begin + place.numel()].view(place.shape))

    def alltoall(self, places, parts):
        """Part r goes to rank r, and place r gets what rank r has for this one."""
        table = torch.empty(self.world.size, self.world.size, dtype=torch.int64)
        self.gather(torch.tensor([part.numel() for part in parts]), list(table))
        flat = torch.cat([part.reshape(-1) for part in parts])
        me = self.world.rank
        for root, values in self.each(flat, table.sum(1).tolist()):
            begin = int(table[root, :me].sum())
            places[root].copy_(values[begin:begin + places[root].numel()].view(places[root].shape))
