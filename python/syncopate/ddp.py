"""For those who keep DistributedDataParallel: an exact hook for it, and strategies beside it."""
import torch
import torch.distributed as dist

from .c10d import desk_of
from .errors import InvalidArgument
from .optimizer import DistributedOptimizer
from .world import world as the_world


def _check_ranks(ranks, world):
    """Where no launcher has told us of the others, this rank would be alone, and not notice."""
    if ranks != world.size:
        raise InvalidArgument(
            f"DDP's group has {ranks} ranks, and Syncopate's world {world.size}",
            "Start with `syncopate run`, torchrun or mpirun, or init_process_group('syncopate')")


def hook(state, bucket):
    """Means of gradients over all ranks, by our sums, whatever the backend of DDP:
    `model.register_comm_hook(None, syncopate.hook)`. For a DDP of all ranks.

    Exact: a hook that waits for some of the ranks would leave replicas that are not equal, as DDP
    steps once where a late rank has several rounds to apply. For that there is `relax`."""
    world = the_world()
    _check_ranks(dist.get_world_size(), world)
    desk = desk_of(world)
    gradients = bucket.buffer()
    gradients.mul_(1 / world.size)  # As DDP does, before the sum and not by a division: equal bits.
    if gradients.device.type == 'cpu':
        return desk.worker.submit(lambda: desk.exact.allreduce(gradients, 'SUM'),
                                  gradients).get_future()
    host = gradients.cpu()
    desk.worker.submit(lambda: desk.exact.allreduce(host, 'SUM'), host).wait()
    gradients.copy_(host)
    done = torch.futures.Future()
    done.set_result(gradients)
    return done


def relax(ddp_model, optimizer, strategy='eager-majority', **options):
    """Lets a strategy exchange instead of DDP, whose module stays in use. Returns the optimizer, which
    is a DistributedOptimizer with all that belongs to it: call its finish() at the end."""
    if not isinstance(ddp_model, torch.nn.parallel.DistributedDataParallel):
        raise InvalidArgument(f'a {type(ddp_model).__name__} is no DistributedDataParallel',
                              'Use syncopate.DistributedOptimizer for other modules')
    world = options.get('world') or the_world()
    _check_ranks(ddp_model.process_group.size(), world)
    made = DistributedOptimizer(optimizer, ddp_model.module, strategy, **options)
    # As in its no_sync(), for good: neither gradients nor buffers are DDP's to exchange.
    ddp_model.require_backward_grad_sync = False
    ddp_model.require_forward_param_sync = False
    return made
