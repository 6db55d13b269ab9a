"""Ranks as forked processes, for tests of process groups: what each returns, or why it did not."""
import multiprocessing
import os
import socket
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

torch.set_num_threads(1)
try:  # torch 1.13 with Python 3.11 cannot import what DDP wants here.
    import torch.nn.parallel._replicated_tensor_ddp_utils as _replicated
    _replicated._ddp_with_replicated_tensor_enabled = lambda: False
except ImportError:
    pass

# Where a test says nothing else: a rank that hangs fails its test, not the whole run.
PATIENCE = 60


def _rank(function, arguments, rank, size, place, pipe):
    torch.set_num_threads(1)
    code = 1
    try:
        if place is not None:
            import syncopate.c10d
            dist.init_process_group(arguments[0], init_method=f'file://{place}', rank=rank,
                                    world_size=size)
        pipe.send((True, function(rank, size, *arguments)))
        code = 0
    except BaseException:
        pipe.send((False, traceback.format_exc()))
    finally:
        pipe.close()
        if code:
            os._exit(code)


class Ranks:
    """Starts `function(rank, size, backend, …)` on so many ranks."""

    def __init__(self, size, function, *arguments, group=True):
        context = multiprocessing.get_context('fork')
        self._folder = tempfile.TemporaryDirectory()
        place = os.path.join(self._folder.name, 'store') if group else None
        self.processes, self._pipes = [], []
        for rank in range(size):
            mine, theirs = context.Pipe(False)
            process = context.Process(target=_rank, args=(function, arguments, rank, size, place,
                                                          theirs))
            process.start()
            theirs.close()
            self.processes.append(process)
            self._pipes.append(mine)

    def results(self, seconds=PATIENCE, lost=()):
        """Of each rank, but for those that are `lost`. All failures are told, not the first alone."""
        end = time.monotonic() + seconds
        found, failures = [], []
        for rank, pipe in enumerate(self._pipes):
            worked, value = self._receive(pipe, end)
            if worked:
                found.append(value)
            elif rank not in lost:
                failures.append(f'rank {rank}: {value}')
        for rank, process in enumerate(self.processes):
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                failures.append(f'rank {rank} did not end within {seconds} s')
                process.kill()
                process.join()
            elif process.exitcode and rank not in lost:
                failures.append(f'rank {rank} ended with {process.exitcode}')
        self._folder.cleanup()
        assert not failures, '\n'.join(failures)
        return found

    @staticmethod
    def _receive(pipe, end):
        try:
            if pipe.poll(max(0.0, end - time.monotonic())):
                return pipe.recv()
            return False, 'no answer in time'
        except EOFError:
            return False, 'ended without an answer'


def on_ranks(size, function, *arguments, **options):
    return Ranks(size, function, *arguments).results(**options)


def as_torchrun_does(rank, size, port):
    """Sets what torchrun tells each rank."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(size), MASTER_ADDR='localhost', MASTER_PORT=str(port))


def free_port():
    with socket.socket() as listener:
        listener.bind(('localhost', 0))
        return listener.getsockname()[1]


def make_model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 300),
                               torch.nn.ReLU(), torch.nn.Linear(300, 5))
