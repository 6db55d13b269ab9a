"""The backend of torch.distributed: what PyTorch's own suite (suite.py) does not ask.

A test starts its ranks itself, and tells the failures of all of them.
"""
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from forked import Ranks, as_torchrun_does, free_port, make_model, on_ranks

import syncopate


# ---- Ranks that are lost ----

def meet(ranks):
    """At the store, which asks for no more of them."""
    store = dist.distributed_c10d._get_default_store()
    store.add('met', 1)
    while store.add('met', 0) < ranks:
        time.sleep(0.01)


def lose_a_rank(rank, size, backend, call):
    dist.barrier()
    model = torch.nn.parallel.DistributedDataParallel(make_model(0))
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    if call == 'backward':
        with pytest.raises(RuntimeError, match='RankLost: rank 1 has died'):
            model(torch.randn(1, 20)).sum().backward()
    else:
        calls = {'allreduce': lambda: dist.all_reduce(torch.ones(10)),
                 'integers': lambda: dist.all_reduce(torch.ones(10, dtype=torch.int64)),
                 'large gather': lambda: dist.all_gather([torch.ones(10000)] * size, torch.ones(10000)),
                 'broadcast': lambda: dist.broadcast(torch.ones(10), 1),
                 'barrier': dist.barrier,
                 'asynchronous': lambda: dist.all_reduce(torch.ones(10), async_op=True).wait()}
        with pytest.raises(syncopate.RankLost, match='rank 1 has died'):
            calls[call]()
    took = time.monotonic() - began
    assert syncopate.world().dead == [1]
    meet(size - 1)  # A survivor that has ended would count as dead as well.
    return took


@pytest.mark.parametrize('call', ['allreduce', 'integers', 'large gather', 'broadcast', 'barrier',
                                  'asynchronous', 'backward'])
def test_a_killed_rank_is_an_error_on_the_others_within_seconds(call):
    found = on_ranks(3, lose_a_rank, 'syncopate', call, lost=[1])
    assert len(found) == 2 and max(found) < 10


def leave_early(rank, size, backend):
    dist.barrier()
    if rank == 1:
        return
    with pytest.raises(syncopate.RankLost):
        dist.barrier()


def test_a_barrier_without_a_rank_that_has_left_is_an_error():
    on_ranks(3, leave_early, 'syncopate')


def come_alone(rank, size, backend):
    impatient = dist.new_group(timeout=timedelta(seconds=1))
    before = syncopate.world().timeout
    dist.barrier()
    if rank == 0:
        with pytest.raises(syncopate.Timeout, match='timeout of a process group .* rank 1'):
            dist.barrier(impatient)
    assert syncopate.world().timeout == before
    dist.new_group([0])  # All ranks meet at the store: no rank leaves before.


def test_a_group_has_a_timeout_of_its_own():
    on_ranks(2, come_alone, 'syncopate')


UNFINISHED = """
import sys, torch, torch.distributed as dist, syncopate.c10d
rank = int(sys.argv[1])
dist.init_process_group('syncopate', init_method='file://' + sys.argv[2], rank=rank, world_size=2)
dist.barrier()
if rank == 0:
    dist.all_reduce(torch.ones(10), async_op=True)  # Rank 1 waits for this process to end.
else:
    sys.stdin.read()
"""


def test_a_program_that_ends_in_the_middle_of_a_call_ends(tmp_path):
    command = [sys.executable, '-c', UNFINISHED]
    second = subprocess.Popen([*command, '1', str(tmp_path / 'store')], stdin=subprocess.PIPE)
    try:
        assert subprocess.run([*command, '0', str(tmp_path / 'store')], timeout=30).returncode == 0
        second.communicate(timeout=30)
        assert second.returncode == 0
    finally:
        second.kill()
        second.wait()


# ---- What goes where ----

def call_many(rank, size, backend):
    dist.all_reduce(torch.ones(3))
    dist.all_reduce(torch.ones(3, dtype=torch.int32), dist.ReduceOp.MAX)
    dist.barrier()
    some = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(torch.ones(3), group=some)
    if rank == 0:
        dist.send(torch.ones(1), 1)
    elif rank == 1:
        dist.recv(torch.ones(1), 0)
    again = dist.new_group()  # Of all ranks.
    dist.all_reduce(torch.ones(3), group=again)
    return syncopate.c10d.counts()


def test_counts_tell_what_is_ours():
    first, second, third = on_ranks(3, call_many, 'syncopate')
    assert first == {'allreduce': [3, 1], 'barrier': [1, 0], 'send': [0, 1]}
    assert second == {'allreduce': [3, 1], 'barrier': [1, 0], 'recv': [0, 1]}
    assert third == {'allreduce': [3, 0], 'barrier': [1, 0]}


def wait_for_the_last(rank, size, backend):
    for _ in range(5):
        if rank == 2:
            time.sleep(0.1)
        dist.all_reduce(torch.ones(3))
    return syncopate.c10d.waits()


def test_waits_name_the_rank_that_comes_last():
    found = on_ranks(3, wait_for_the_last, 'syncopate')
    for waited in found[:2]:
        assert max(waited, key=waited.get) == 2 and waited[2] > 0.1


# ---- Values ----

def reduce_all_kinds(rank, size, backend):
    found = {}
    for dtype in (torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32, torch.float64):
        for name in ('SUM', 'MIN', 'MAX', 'PRODUCT'):
            for length in (5, 5000):  # By a sum, and by broadcasts.
                torch.manual_seed(rank)
                values = torch.randint(0, 100, (length, 2)).to(dtype).t()  # Not contiguous.
                operation = getattr(dist.ReduceOp, name)
                if backend == 'gloo':
                    values = values.contiguous()
                dist.all_reduce(values, operation)
                found[dtype, name, length] = values.contiguous().numpy()
    return found


def test_reductions_of_every_type_equal_those_of_gloo():
    ours, gloo = on_ranks(3, reduce_all_kinds, 'syncopate'), on_ranks(3, reduce_all_kinds, 'gloo')
    for one, other in zip(ours, gloo):
        assert [kind for kind in one if (one[kind] != other[kind]).any()] == []


def sum_large_integers(rank, size, backend):
    values = torch.tensor([2**62 + rank, -2**63 + rank, -1 - rank, 2**32 - 1])
    dist.all_reduce(values)
    return values.tolist()


def test_sums_of_integers_wrap_and_are_exact():
    wrapped = [(3 * 2**62 + 3 + 2**63) % 2**64 - 2**63, -2**63 + 3, -6, 3 * (2**32 - 1)]
    assert on_ranks(3, sum_large_integers, 'syncopate') == [wrapped] * 3


def move_values(rank, size, backend):
    every_bit = torch.tensor([float('nan'), -0.0, 1e-45, float('-inf'), float(rank)])
    gathered = [torch.empty(5) for _ in range(size)]
    dist.all_gather(gathered, every_bit)
    uneven = torch.empty(sum(range(1, size + 1)), dtype=torch.int16)
    dist.all_to_all_single(uneven, torch.full((size * (rank + 1),), rank, dtype=torch.int16),
                           list(range(1, size + 1)), [rank + 1] * size)
    part = torch.empty(4)
    dist.reduce_scatter(part, [torch.full((4,), float(to + rank)) for to in range(size)])
    return [each.numpy().tobytes() for each in gathered], uneven.tolist(), part.tolist()


def test_values_are_moved_bit_for_bit():
    found = on_ranks(3, move_values, 'syncopate')
    for rank, (gathered, uneven, part) in enumerate(found):
        for other, values in enumerate(gathered):
            expected = torch.tensor([float('nan'), -0.0, 1e-45, float('-inf'), float(other)])
            assert values == expected.numpy().tobytes()
        assert uneven == [0, 1, 1, 2, 2, 2]
        assert part == [3.0 * rank + 3] * 4


# ---- Beginnings and ends ----

def begin_again(rank, size, backend):
    for time_of_it in range(3):
        values = torch.ones(3)
        dist.all_reduce(values)
        assert values.tolist() == [size] * 3
        dist.destroy_process_group()
        store = dist.FileStore(f'{os.environ["TMPDIR"]}/again{time_of_it}', size)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size)


def test_a_group_can_be_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    on_ranks(2, begin_again, 'syncopate')


def begin_as_torchrun_does(rank, size, backend, port):
    as_torchrun_does(rank, size, port)
    import syncopate.c10d
    world = syncopate.world()
    dist.init_process_group(backend)
    values = torch.ones(3)
    dist.all_reduce(values)
    assert values.tolist() == [size] * 3
    assert syncopate.world() is world  # The launcher's.


def test_it_is_the_world_of_the_launcher():
    Ranks(2, begin_as_torchrun_does, 'syncopate', free_port(), group=False).results()


def test_the_package_does_not_import_the_backend():
    program = 'import sys, syncopate; sys.exit("syncopate.c10d" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', program]).returncode == 0
