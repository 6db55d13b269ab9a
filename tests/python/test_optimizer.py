"""DistributedOptimizer: every rank of a job runs this file, test by test:

    syncopate run -n 3 -- python3 -m pytest tests/python/test_optimizer.py
"""
import copy
import io
import random
import time
import warnings
import zlib

import pytest
import syncopate
import torch
from torch.optim import lr_scheduler

STRATEGIES = ['sync', 'eager-solo', 'eager-majority', 'wagma:1:5' if syncopate.size() < 2 else
              'wagma:2:5', 'local:4', 'post-local:5:4', 'biased-local:4', 'dropcompute', 'm-sync:1']
RANK, SIZE = syncopate.rank(), syncopate.size()
torch.set_num_threads(1)
syncopate.world().timeout = 30


def net(seed=1, norm=False):
    torch.manual_seed(seed + RANK)  # Other weights on each rank, until the optimizer is made.
    layers = [torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)]
    if norm:
        layers.insert(1, torch.nn.BatchNorm1d(8))
    return torch.nn.Sequential(*layers)


def batch(step, rank=None, size=4):
    made = torch.Generator().manual_seed(1000 * step + (RANK if rank is None else rank))
    inputs = torch.randn(size, 6, generator=made)
    return inputs, (inputs[:, 0] > 0).long()


def loss_of(model, step, rank=None):
    inputs, labels = batch(step, rank)
    return torch.nn.functional.cross_entropy(model(inputs), labels)


def all_ranks(value):
    """The value of each rank, on every rank."""
    values = torch.zeros(SIZE, dtype=torch.float64)
    values[RANK] = value
    return syncopate.functional.allreduce(values).tolist()


def same_everywhere(tensors):
    text = b''.join(tensor.detach().contiguous().numpy().tobytes() for tensor in tensors)
    return len(set(all_ranks(zlib.crc32(text)))) == 1


def train(model, optimizer, steps, dawdle=0.002):
    drawn = random.Random(RANK)
    for step in range(steps):
        if RANK == 1:
            time.sleep(drawn.random() * dawdle)
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()


@pytest.mark.parametrize('kind', [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize('strategy', STRATEGIES)
def test_replicas_are_equal_with_every_strategy_and_optimizer(strategy, kind):
    model = net(norm=True)
    options = dict(momentum=0.9) if kind is torch.optim.SGD else {}
    plain = kind(model.parameters(), lr=0.05, **options)
    optimizer = syncopate.DistributedOptimizer(plain, model, strategy)
    assert optimizer is plain and isinstance(optimizer, kind)
    assert same_everywhere(model.parameters())
    # Ranks with unequal numbers of batches end without a hang.
    train(model, optimizer, 12 + 4 * RANK)
    optimizer.finish()
    assert same_everywhere(model.parameters())
    assert same_everywhere(buffer for buffer in model.buffers() if buffer.is_floating_point())
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_sync_is_plain_training_on_all_batches():
    model = net()
    optimizer = syncopate.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model, 'sync')
    single = copy.deepcopy(net(seed=1 - RANK))  # Rank 0's weights.
    reference = torch.optim.SGD(single.parameters(), lr=0.1, momentum=0.9)
    for step in range(10):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        reference.zero_grad()
        (sum(loss_of(single, step, rank) for rank in range(SIZE)) / SIZE).backward()
        reference.step()
    optimizer.finish()
    for ours, theirs in zip(model.parameters(), single.parameters()):
        assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('times', [1, 3, 7])
@pytest.mark.parametrize('to_none', [True, False])
def test_gradients_add_up_until_step(times, to_none):
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model,
                                               'sync')
    single = net(seed=1 - RANK)
    reference = torch.optim.SGD(single.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad(set_to_none=to_none)
        reference.zero_grad()
        for part in range(times):
            with optimizer.no_sync():
                loss_of(model, 10 * step + part).backward()
            (sum(loss_of(single, 10 * step + part, rank) for rank in range(SIZE)) / SIZE).backward()
        optimizer.step()
        reference.step()
    optimizer.finish()
    for ours, theirs in zip(model.parameters(), single.parameters()):
        assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('made_first', [True, False])
@pytest.mark.parametrize('strategy', ['sync', 'eager-solo', 'm-sync:1', 'local:4'])
def test_schedulers_move_by_the_mean_of_the_ranks_calls(strategy, made_first):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    if made_first:
        scheduler = lr_scheduler.StepLR(optimizer, 5, 0.5)
    optimizer = syncopate.DistributedOptimizer(optimizer, model, strategy)
    if not made_first:
        scheduler = lr_scheduler.StepLR(optimizer, 5, 0.5)
    for step in range(20 + 10 * RANK):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        scheduler.step()
    optimizer.finish()  # It raises unless the replicas are equal.
    if strategy != 'local:4':  # Between two averages a rank's own calls count as well.
        assert len(set(all_ranks(optimizer.param_groups[0]['lr']))) == 1
    calls = 20 + 5 * (SIZE - 1)  # Of a rank, in the mean.
    assert 0.5 ** (calls // 5) <= optimizer.param_groups[0]['lr'] <= 0.5


def test_a_scheduler_gives_the_rates_that_it_gives_alone():
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model,
                                               'sync')
    chain = lr_scheduler.SequentialLR(
        optimizer, [lr_scheduler.LinearLR(optimizer, 0.1, total_iters=3),
                    lr_scheduler.CosineAnnealingLR(optimizer, 10)], [3])
    single = torch.optim.SGD(net().parameters(), lr=1.0)
    alone = lr_scheduler.SequentialLR(single, [lr_scheduler.LinearLR(single, 0.1, total_iters=3),
                                               lr_scheduler.CosineAnnealingLR(single, 10)], [3])
    ours, theirs = [], []
    optimizer.on_round(lambda receipt: ours.append(optimizer.param_groups[0]['lr']))
    for step in range(8):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        chain.step()
        theirs.append(single.param_groups[0]['lr'])
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            alone.step()
    optimizer.finish()
    assert ours[:8] == pytest.approx(theirs)


def test_a_plateau_is_judged_by_the_mean_of_what_ranks_measured():
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model,
                                               'sync')
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.1)
    for step in range(8):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        scheduler.step(1.0 - 0.1 * step if RANK == 0 else 1.0 + 0.2 * step)
    optimizer.finish()
    # In the mean it gets worse if there are two ranks and more, and better for rank 0 alone.
    assert (optimizer.param_groups[0]['lr'] < 1.0) == (SIZE > 1)


def test_a_rate_that_is_changed_by_hand_is_refused():
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model,
                                               'sync')
    met = []

    @optimizer.every(rounds=2)
    def change():
        optimizer.param_groups[0]['lr'] *= 0.5  # Allowed: on all ranks alike.
        met.append(optimizer.rounds)

    train(model, optimizer, 4)
    assert met == [2, 4] and optimizer.param_groups[0]['lr'] == pytest.approx(0.025)
    optimizer.param_groups[0]['lr'] = 1.0
    loss_of(model, 0).backward()
    with pytest.raises(syncopate.InvalidArgument, match="'lr' of parameter group 0"):
        optimizer.step()
    optimizer.param_groups[0]['lr'] = 0.025
    optimizer.step()
    optimizer.finish()


def test_clipping_is_of_the_mean_and_private():
    model = net()
    seen = []

    def before_step():
        seen.append(torch.norm(torch.stack([torch.norm(p.grad) for p in model.parameters()])).item())
        for parameter in model.parameters():
            parameter.grad.mul_(100 if RANK == 0 else 1).mul_(0.01 if RANK == 0 else 1)

    optimizer = syncopate.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model, 'sync', max_norm=0.01,
        before_step=before_step)
    train(model, optimizer, 5)
    optimizer.finish()
    assert len(seen) == 5 and all(norm <= 0.0101 for norm in seen)


class Meddling(torch.optim.SGD):
    """An optimizer that writes to its gradients, as some do."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group['params']:
                parameter.grad.mul_(0.5)
        return super().step(closure)


def test_an_optimizer_that_writes_to_gradients_gets_a_copy():
    model = net()
    optimizer = syncopate.DistributedOptimizer(Meddling(model.parameters(), lr=0.1), model, 'sync')
    train(model, optimizer, 5)
    optimizer.finish()


@pytest.mark.parametrize('strategy', ['sync', 'eager-majority', 'wagma:1:3' if SIZE < 2 else
                                      'wagma:2:3'])
def test_meetings_evaluate_save_and_stop_early(strategy):
    model = net(norm=True)
    optimizer = syncopate.DistributedOptimizer(torch.optim.Adam(model.parameters(), 0.01), model,
                                               strategy)
    met, saved = [], io.BytesIO()

    @optimizer.every(rounds=6)
    def meet():
        syncopate.barrier()
        model.eval()
        with torch.no_grad():
            loss = float(loss_of(model, 99, rank=0))
        model.train()
        assert len(set(all_ranks(loss))) == 1  # Statistics of batch norm are averaged here.
        met.append(optimizer.rounds)
        if len(met) == 2:
            torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, saved)
            if RANK == SIZE - 1:
                optimizer.stop()

    step = 0
    while not optimizer.stopped:
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        step += 1
        assert step < 1000
    assert len(met) == 2 and len(set(all_ranks(optimizer.rounds))) == 1
    optimizer.finish()

    # All ranks go on from what any of them has saved.
    saved.seek(0)
    state = torch.load(saved)
    again = net(seed=5, norm=True)
    resumed = syncopate.DistributedOptimizer(torch.optim.Adam(again.parameters(), 0.01), again,
                                             strategy)
    again.load_state_dict(state['model'])
    resumed.load_state_dict(state['optimizer'])
    assert resumed.rounds == met[1]
    train(again, resumed, 6)
    resumed.finish()


def test_a_state_in_the_middle_of_rounds_is_refused():
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, 'sync')
    train(model, optimizer, 2)
    with pytest.raises(syncopate.InvalidArgument, match='middle of its rounds'):
        optimizer.state_dict()
    optimizer.finish()
    optimizer.state_dict()
    with pytest.raises(syncopate.Closed):
        optimizer.step()


def test_frozen_unused_and_tied_parameters():
    torch.manual_seed(RANK)
    shared = torch.nn.Linear(6, 6)
    unused = torch.nn.Parameter(torch.ones(3))
    head = torch.nn.Linear(6, 2)
    head.bias.requires_grad_(False)

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head, self.unused = shared, shared, head, unused

        def forward(self, inputs):
            return self.head(self.second(torch.tanh(self.first(inputs))))

    model = Tied()
    frozen = head.bias.detach().clone()
    optimizer = syncopate.DistributedOptimizer(
        torch.optim.AdamW([{'params': shared.parameters()},
                           {'params': [*head.parameters(), unused], 'lr': 0.1}], lr=0.01,
                          weight_decay=0), model, 'sync')
    train(model, optimizer, 4)
    optimizer.finish()
    assert torch.equal(frozen, head.bias) and model.first.weight is model.second.weight
    assert torch.equal(unused, torch.ones(3))


def test_channels_last_stays_channels_last():
    torch.manual_seed(RANK)
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, 'sync')
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(2, 3, 8, 8)).square().mean().backward()
        optimizer.step()
    optimizer.finish()
    assert model.weight.is_contiguous(memory_format=torch.channels_last)


def test_sparse_gradients_are_summed_dense():
    torch.manual_seed(RANK)
    model = torch.nn.EmbeddingBag(10, 4, sparse=True)
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.5), model, 'sync')
    before = model.weight.detach().clone()
    optimizer.zero_grad()
    model(torch.tensor([[RANK, 9]])).sum().backward()
    optimizer.step()
    optimizer.finish()
    moved = (model.weight.detach() != before).any(dim=1)
    assert moved[:SIZE].all() and moved[9] and not moved[SIZE:9].any()


def test_several_models_at_once():
    first, second = net(), net(seed=7)
    one = syncopate.DistributedOptimizer(torch.optim.SGD(first.parameters(), 0.1), first, 'sync')
    two = syncopate.DistributedOptimizer(torch.optim.Adam(second.parameters(), 0.1), second,
                                         'eager-majority')
    for step in range(5):
        for model, optimizer in ((first, one), (second, two)):
            optimizer.zero_grad()
            loss_of(model, step).backward()
            optimizer.step()
    one.finish()
    two.finish()


def test_what_is_wrong_is_refused_before_anything_starts():
    model = net()
    with pytest.raises(syncopate.InvalidArgument, match="no strategy 'eager'"):
        syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, 'eager')
    with pytest.raises(syncopate.InvalidArgument, match='optimizer first'):
        syncopate.DistributedOptimizer(model, model, 'sync')
    with pytest.raises(syncopate.InvalidArgument, match='float32'):
        double = net().double()
        syncopate.DistributedOptimizer(torch.optim.SGD(double.parameters(), 0.1), double, 'sync')


def test_a_receipt_for_each_round():
    model = net()
    told = []
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, 'sync')
    optimizer.on_round(told.append)
    train(model, optimizer, 5)
    assert [receipt.round for receipt in optimizer.receipts] == [1, 2, 3, 4, 5]
    assert told == list(optimizer.receipts)
    assert all(receipt.contributors == SIZE and receipt.included for receipt in told)
    optimizer.finish()


def test_gradients_that_are_not_finite_on_one_rank_count_as_zero():
    """As a GradScaler of torch 2 tells of them: by attributes of the optimizer."""
    model = net()
    optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, 'sync')
    for step in range(3):
        optimizer.zero_grad()
        (loss_of(model, step) * (float('inf') if RANK == 0 and step == 1 else 8.0)).backward()
        optimizer.grad_scale = torch.tensor(8.0)
        optimizer.found_inf = torch.tensor(1.0 if RANK == 0 and step == 1 else 0.0)
        optimizer.step()
    optimizer.finish()
    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())


def test_collectives_on_tensors():
    values = torch.full((5, 3), float(RANK + 1))
    total = SIZE * (SIZE + 1) / 2
    assert torch.equal(syncopate.functional.allreduce(values), torch.full((5, 3), total))
    long = torch.full((3_000_000,), float(RANK), dtype=torch.float64)
    syncopate.functional.allreduce(long, scale='ranks')
    assert torch.allclose(long, torch.full_like(long, (SIZE - 1) / 2))
    other = torch.arange(7) * (RANK + 1)
    assert torch.equal(syncopate.functional.broadcast(other, root=SIZE - 1), torch.arange(7) * SIZE)
    rounds = syncopate.functional.partial_allreduce(4, trigger='first', scale='none')
    taken = torch.zeros(4)
    for step in range(5):
        rounds.slot().fill_(1.0)
        for total_of_round, receipt in rounds.exchange():
            assert receipt.contributors
            taken += total_of_round
    rounds.finish(lambda values, receipt: taken.add_(values))
    assert torch.equal(taken, torch.full((4,), 5.0 * SIZE))  # Never lost, never counted twice.
    weights = torch.full((6,), float(RANK))
    groups = syncopate.functional.group_average(torch.zeros(6), group_size=1)
    groups.average(weights)
    groups.leave()


def test_a_mismatch_names_both_sides():
    if SIZE == 1:
        pytest.skip('alone there is none')
    with pytest.raises(syncopate.Mismatch):
        syncopate.functional.PartialAllreduce(4 + RANK)
