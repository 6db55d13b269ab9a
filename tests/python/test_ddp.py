"""DistributedDataParallel over our backend, with our hook, and with a strategy beside it."""
import time

import pytest
import torch
import torch.distributed as dist

from forked import Ranks, as_torchrun_does, free_port, make_model, on_ranks

import syncopate


def train_ddp(rank, size, backend, with_hook=False, steps=20):
    """The weights at the end. Small buckets, so that a step has several."""
    model = torch.nn.parallel.DistributedDataParallel(make_model(rank), bucket_cap_mb=0.02)
    if with_hook:
        model.register_comm_hook(None, syncopate.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(100 + rank)
    for _ in range(steps):
        optimizer.zero_grad()
        inputs, labels = torch.randn(8, 20), torch.randint(0, 5, (8,))
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    return torch.cat([weights.detach().view(-1) for weights in model.parameters()]).numpy()


def farthest(some, others):
    return max(abs(a - b).max() for a, b in zip(some, others))


def test_ddp_equals_ddp_over_gloo_bit_by_bit_with_two_ranks():
    ours, gloo = on_ranks(2, train_ddp, 'syncopate'), on_ranks(2, train_ddp, 'gloo')
    assert [one.tobytes() for one in ours] == [one.tobytes() for one in gloo]


@pytest.mark.parametrize('size', [3, 4])
def test_ddp_is_as_near_to_gloo_as_sums_in_another_order_are(size):
    ours, gloo = on_ranks(size, train_ddp, 'syncopate'), on_ranks(size, train_ddp, 'gloo')
    assert farthest(ours, gloo) <= 1e-6
    assert len({one.tobytes() for one in ours}) == 1


@pytest.mark.parametrize('size', [2, 3])
def test_the_hook_equals_plain_ddp_bit_by_bit(size):
    plain, hooked = on_ranks(size, train_ddp, 'syncopate'), on_ranks(size, train_ddp, 'syncopate', True)
    assert [one.tobytes() for one in plain] == [one.tobytes() for one in hooked]


def train_over_gloo_with_the_hook(rank, size, backend, port):
    as_torchrun_does(rank, size, port)
    dist.init_process_group(backend)
    return train_ddp(rank, size, backend, with_hook=True)


def test_the_hook_does_not_mind_the_backend():
    plain = on_ranks(2, train_ddp, 'gloo')
    hooked = Ranks(2, train_over_gloo_with_the_hook, 'gloo', free_port(), group=False).results()
    assert [one.tobytes() for one in plain] == [one.tobytes() for one in hooked]


def hook_alone(rank, size, backend):
    with pytest.raises(RuntimeError, match="group has 2 ranks, and Syncopate's world 1"):
        train_ddp(rank, size, backend, with_hook=True)


def test_the_hook_refuses_where_it_would_be_alone():
    on_ranks(2, hook_alone, 'gloo')


def train_relaxed(rank, size, backend, strategy, static_graph):
    torch.manual_seed(rank)
    module = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.BatchNorm1d(50), torch.nn.ReLU(),
                                 torch.nn.Linear(50, 5))
    model = torch.nn.parallel.DistributedDataParallel(module, static_graph=static_graph)
    calls_before = sum(map(sum, syncopate.c10d.counts().values()))
    optimizer = syncopate.relax(model, torch.optim.AdamW(model.parameters(), 1e-3), strategy)
    for step in range(12):
        if step % size == rank:
            time.sleep(0.01)  # So that ranks come late.
        optimizer.zero_grad()
        inputs, labels = torch.randn(8, 20), torch.randint(0, 5, (8,))
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    optimizer.finish()
    assert sum(map(sum, syncopate.c10d.counts().values())) == calls_before  # None of DDP's.
    return torch.cat([weights.detach().view(-1) for weights in model.state_dict().values()]).numpy()


@pytest.mark.parametrize('static_graph', [False, True])
@pytest.mark.parametrize('strategy', ['sync', 'eager-majority', 'eager-solo', 'wagma'])
def test_relax_ends_with_equal_replicas(strategy, static_graph):
    found = on_ranks(3, train_relaxed, 'syncopate', strategy, static_graph)
    assert len({one.tobytes() for one in found}) == 1


def refuse_to_relax(rank, size, backend):
    model = make_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(syncopate.InvalidArgument, match='no DistributedDataParallel'):
        syncopate.relax(model, optimizer)
    with pytest.raises(syncopate.InvalidArgument, match="group has 2 ranks"):
        syncopate.relax(torch.nn.parallel.DistributedDataParallel(model), optimizer)


def test_relax_refuses_what_it_cannot_do():
    on_ranks(2, refuse_to_relax, 'gloo')
