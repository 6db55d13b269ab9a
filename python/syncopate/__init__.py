"""Data-parallel training that does not wait for stragglers.

    import torch, syncopate
    optimizer = syncopate.DistributedOptimizer(torch.optim.AdamW(model.parameters(), 1e-3), model,
                                               "eager-majority")
    …the loop as it was…
    optimizer.finish()

Start it with torchrun, mpirun, srun or `syncopate run -n 8 -- python train.py`, or alone.
"""
from . import functional
from ._library import ask as _ask
from .errors import (Closed, EnvironmentProblem, Error, Interrupted, InvalidArgument, MachineLost,
                     Mismatch, OutOfMemory, RankLost, Timeout)
from .functional import GroupAverage, PartialAllreduce, Receipt
from .optimizer import DistributedOptimizer
from .world import World, barrier, local_rank, rank, size, world

__version__ = _ask('version').decode()


def strategies():
    """The strategies by name, with what they are in a line."""
    found, index = {}, 0
    while True:
        name = _ask('strategy_name', index)
        if name is None:
            return found
        found[name.decode()] = _ask('strategy_summary', index).decode()
        index += 1


def __getattr__(name):
    """What needs torch.distributed is imported where it is asked for: not every torch has it."""
    if name in ('hook', 'relax'):
        from . import ddp
        return getattr(ddp, name)
    raise AttributeError(f"module 'syncopate' has no attribute '{name}'")


__all__ = ['Closed', 'DistributedOptimizer', 'EnvironmentProblem', 'Error', 'GroupAverage',
           'Interrupted', 'InvalidArgument', 'MachineLost', 'Mismatch', 'OutOfMemory',
           'PartialAllreduce', 'RankLost', 'Receipt', 'Timeout', 'World', 'barrier', 'functional',
           'local_rank', 'rank', 'size', 'strategies', 'world']
