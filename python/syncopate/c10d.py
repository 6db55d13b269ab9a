"""A backend of torch.distributed: exact collectives, for DDP, metrics, samplers and checkpoints.

    import syncopate.c10d
    torch.distributed.init_process_group('syncopate')

Ours, for dense tensors of the host in groups of all ranks:
    allreduce, reduce, reduce_scatter   SUM, MIN, MAX, PRODUCT of floats, integers and bool, AVG of
                                        floats, BAND, BOR and BXOR of integers and bool
    broadcast, barrier, all_gather, gather, scatter, all_to_all   of every type
Elsewhere, in a Gloo group on the same store:
    send and recv, monitored_barrier, PREMUL_SUM, tensors that are sparse, complex or not on the host,
    calls with several tensors at once for several devices, and groups of some of the ranks
counts() tells how often which was the case.

A rank that is lost is an error: RankLost, within seconds. Where C++ has called (backward() of DDP) torch
makes a RuntimeError of it, with its text. waits() tells which ranks were waited for, and how long.

All groups of all ranks share one world and one thread: ranks call their collectives in the same
order, also those of different groups.
"""
import collections
import inspect
from datetime import timedelta

import torch
import torch.distributed as dist

from ._exact import Exact, can_reduce, waits
from ._meeting import world_of
from ._works import Worker

_OPERATIONS = ('SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX', 'BAND', 'BOR', 'BXOR')
# What torch gives where a program gives no timeout: it says nothing about this job then.
_NO_TIMEOUT_GIVEN = timedelta(minutes=30)

_counts = collections.defaultdict(lambda: [0, 0])


def counts():
    """Calls so far by name: [ours, elsewhere]."""
    return {name: list(both) for name, both in _counts.items()}


class _Desk:
    """What groups on a world share."""

    def __init__(self, world):
        self.exact, self.worker = Exact(world), Worker()
        world._users.add(self)

    def close(self):
        self.worker.stop()
        self.exact.close()


def desk_of(world):
    if not hasattr(world, 'desk'):
        world.desk = _Desk(world)
    return world.desk


def _operation(options):
    """The name of what an allreduce or its options ask for; None if it is not among ours."""
    if options is None:
        return 'SUM'
    asked = getattr(options, 'reduceOp', options)
    for name in _OPERATIONS:
        if hasattr(dist.ReduceOp, name) and asked == getattr(dist.ReduceOp, name):
            return name
    return None


def _plain(tensors):
    """Whether these are of a kind that we take."""
    return all(tensor.layout == torch.strided and tensor.device.type == 'cpu' and
               not tensor.is_complex() and not tensor.is_quantized for tensor in tensors)


def _rows(tensor, size):
    """A tensor for each rank, which are views of it."""
    return list(tensor.view(-1).view(size, -1)) if tensor.is_contiguous() else \
        list(tensor.chunk(size))


class _Names:
    """What torch asks of a group that is written in Python, some versions more than others."""

    _group_name = _group_description = ''
    _place = None  # The rank and the size.

    def name(self):
        return 'syncopate'

    getBackendName = name

    def getSize(self):
        return self._place[1]

    def getRank(self):
        return self._place[0]

    def setGroupName(self, name):
        self._group_name = name

    def getGroupName(self):
        return self._group_name

    def setGroupDesc(self, description):
        self._group_description = description

    def getGroupDesc(self):
        return self._group_description


class ProcessGroup(_Names, dist.ProcessGroup):
    """A group of all ranks on their world; of some of them, on Gloo alone."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._place = (rank, size)
        self._gloo = dist.ProcessGroupGloo(dist.PrefixStore('gloo', store), rank, size,
                                           timeout=timeout)
        self._desk = None
        later = dist.is_initialized()
        if later and dist.get_world_size() != size:
            return
        world = world_of(dist.PrefixStore('syncopate', store), rank, size, again=later)
        self._desk = desk_of(world)
        self._timeout = None if timeout == _NO_TIMEOUT_GIVEN else timeout.total_seconds()

    # Where a call goes.
    def _ours(self, name, action, result):
        _counts[name][0] += 1
        return self._desk.worker.submit(
            action if self._timeout is None else lambda: self._in_time(action), result)

    def _in_time(self, action):
        with self._exact.within(self._timeout):
            action()

    def _elsewhere(self, name, *arguments):
        _counts[name][1] += 1
        return getattr(self._gloo, name)(*[each for each in arguments if each is not None])

    def _takes(self, *lists):
        return self._desk is not None and all(_plain(tensors) for tensors in lists)

    def _reduces(self, tensors, opts):
        return self._takes(tensors) and can_reduce(tensors[0].dtype, _operation(opts))

    @property
    def _exact(self):
        return self._desk.exact

    # Reductions.
    def allreduce(self, tensors, opts=None):
        tensors = [tensors] if torch.is_tensor(tensors) else tensors
        if len(tensors) != 1 or not self._reduces(tensors, opts):
            return self._elsewhere('allreduce', tensors, opts)
        return self._ours('allreduce', lambda: self._exact.allreduce(
            tensors[0], _operation(opts)), tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        if not self._reduces(tensors, opts):
            return self._elsewhere('allreduce_coalesced', tensors, opts)
        return self._ours('allreduce_coalesced', lambda: [self._exact.allreduce(
            tensor, _operation(opts)) for tensor in tensors], tensors)

    def reduce(self, tensors, opts):
        if len(tensors) != 1 or not self._reduces(tensors, opts):
            return self._elsewhere('reduce', tensors, opts)
        return self._ours('reduce', lambda: self._exact.reduce(
            tensors[0], _operation(opts), opts.rootRank), tensors)

    def reduce_scatter(self, outputs, inputs, opts=None):
        if len(outputs) != 1 or not (self._takes(outputs) and self._reduces(inputs[0], opts)):
            return self._elsewhere('reduce_scatter', outputs, inputs, opts)
        return self._ours('reduce_scatter', lambda: self._exact.reduce_scatter(
            outputs[0], inputs[0], _operation(opts)), outputs)

    def _reduce_scatter_base(self, output, input, opts=None):
        if not (self._takes([output]) and self._reduces([input], opts)):
            return self._elsewhere('_reduce_scatter_base', output, input, opts)
        return self._ours('_reduce_scatter_base', lambda: self._exact.reduce_scatter(
            output, _rows(input, self.size()), _operation(opts)), [output])

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        if not (self._takes(outputs) and self._reduces(inputs, opts)):
            return self._elsewhere('reduce_scatter_tensor_coalesced', outputs, inputs, opts)
        return self._ours('reduce_scatter_tensor_coalesced', lambda: [self._exact.reduce_scatter(
            output, _rows(input, self.size()), _operation(opts))
            for output, input in zip(outputs, inputs)], outputs)

    # From one to all, and from all to one or to all.
    def broadcast(self, tensors, opts):
        if len(tensors) != 1 or not self._takes(tensors):
            return self._elsewhere('broadcast', tensors, opts)
        return self._ours('broadcast', lambda: self._exact.broadcast(tensors[0], opts.rootRank),
                          tensors)

    def scatter(self, outputs, inputs, opts):
        if len(outputs) != 1 or not self._takes(outputs, *inputs):
            return self._elsewhere('scatter', outputs, inputs, opts)
        return self._ours('scatter', lambda: self._exact.scatter(
            outputs[0], inputs[0] if inputs else None, opts.rootRank), outputs)

    def gather(self, outputs, inputs, opts):
        if len(inputs) != 1 or not self._takes(inputs, *outputs):
            return self._elsewhere('gather', outputs, inputs, opts)
        return self._ours('gather', lambda: self._exact.gather(
            inputs[0], outputs[0] if outputs else None, opts.rootRank), outputs)

    def allgather(self, outputs, inputs, opts=None):
        if len(inputs) != 1 or not self._takes(inputs, *outputs):
            return self._elsewhere('allgather', outputs, inputs, opts)
        return self._ours('allgather', lambda: self._exact.gather(inputs[0], outputs[0]), outputs)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        """`outputs`: for each rank, a tensor for each input."""
        if not self._takes(inputs, *outputs):
            return self._elsewhere('allgather_coalesced', outputs, inputs, opts)
        return self._ours('allgather_coalesced', lambda: [self._exact.gather(
            input, [places[number] for places in outputs])
            for number, input in enumerate(inputs)], outputs)

    def _allgather_base(self, output, input, opts=None):
        if not self._takes([output, input]):
            return self._elsewhere('_allgather_base', output, input, opts)
        return self._ours('_allgather_base', lambda: self._exact.gather(
            input, _rows(output, self.size())), [output])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        if not self._takes(outputs, inputs):
            return self._elsewhere('allgather_into_tensor_coalesced', outputs, inputs, opts)
        return self._ours('allgather_into_tensor_coalesced', lambda: [self._exact.gather(
            input, _rows(output, self.size())) for output, input in zip(outputs, inputs)], outputs)

    def alltoall(self, outputs, inputs, opts=None):
        if not self._takes(outputs, inputs):
            return self._elsewhere('alltoall', outputs, inputs, opts)
        return self._ours('alltoall', lambda: self._exact.alltoall(outputs, inputs), outputs)

    def alltoall_base(self, output, input, output_splits, input_splits, opts=None):
        if not self._takes([output, input]):
            return self._elsewhere('alltoall_base', output, input, output_splits, input_splits,
                                   opts)

        def parts(tensor, splits):
            equal = [tensor.size(0) // self.size()] * self.size() if tensor.dim() else []
            return list(tensor.split(list(splits) or equal))
        return self._ours('alltoall_base', lambda: self._exact.alltoall(
            parts(output, output_splits), parts(input, input_splits)), [output])

    def barrier(self, opts=None):
        if self._desk is None:
            return self._elsewhere('barrier', opts)
        return self._ours('barrier', self._exact.barrier, [])

    # Between two ranks, and what says who is missing: Gloo's.
    def send(self, tensors, to, tag=0):
        return self._elsewhere('send', tensors, to, tag)

    def recv(self, tensors, source, tag=0):
        return self._elsewhere('recv', tensors, source, tag)

    def recv_anysource(self, tensors, tag=0):
        return self._elsewhere('recv_anysource', tensors, tag)

    def monitored_barrier(self, *arguments, **options):
        _counts['monitored_barrier'][1] += 1
        return self._gloo.monitored_barrier(*arguments, **options)

    def _set_sequence_number_for_group(self):
        self._gloo._set_sequence_number_for_group()

    def _get_sequence_number_for_group(self):
        return self._gloo._get_sequence_number_for_group()


def _register():
    devices = {}
    if 'devices' in inspect.signature(dist.Backend.register_backend).parameters:
        devices['devices'] = ['cpu']
    dist.Backend.register_backend('syncopate', ProcessGroup, **devices)


if not hasattr(dist.Backend, 'SYNCOPATE'):
    _register()

__all__ = ['ProcessGroup', 'counts', 'waits']
