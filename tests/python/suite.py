#!/usr/bin/env python3
"""PyTorch's own tests of backends, which it ships, against ours (syncopate.c10d).

Usage: suite.py --ranks N [--at-least TESTS] [--place-of-gloo] [names of tests …]

Exits with 1 if a test fails, or if fewer run than that many: torch leaves out those that a backend is
not allowed to run, and must not leave out all. With --place-of-gloo every group that the tests take
for Gloo's is ours, so that more of them run (not on torch 2.x, which looks at the class).
"""
import argparse
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# Of what a job, or a user's shell, may have set.
VARIABLES = ('RANK', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT',
             'TORCHELASTIC_RUN_ID', 'SYNCOPATE_RANK', 'SYNCOPATE_RANKS', 'SYNCOPATE_BOARD')
# One wants the name in a log, and two wrap the group for debugging, which takes Gloo's class alone.
FOR_GLOO_ITSELF = ('test_ddp_logging_data_cpu', 'test_all_gather_object_subgroup',
                   'test_gather_object_subgroup')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--ranks', type=int, default=2)
    parser.add_argument('--at-least', type=int, default=1)
    parser.add_argument('--place-of-gloo', action='store_true')
    parser.add_argument('names', nargs='*')
    return parser.parse_args()


def prepare(asked, folder):
    """The tests read all of this when they are imported."""
    for variable in VARIABLES:
        os.environ.pop(variable, None)
    for name in ('barrier', 'test_dir'):
        os.makedirs(os.path.join(folder, name))
    os.environ.update(TEMP_DIR=folder, WORLD_SIZE=str(asked.ranks), CUDA_VISIBLE_DEVICES='',
                      BACKEND='gloo' if asked.place_of_gloo else 'syncopate')
    sys.path.insert(0, os.path.join(HERE, 'stubs'))
    import torch
    torch.set_num_threads(1)
    try:
        # torch 1.13 with Python 3.11 cannot import what this wants, and every test of DDP calls it.
        import torch.nn.parallel._replicated_tensor_ddp_utils as replicated
        replicated._set_ddp_with_replicated_tensor = lambda value: None
    except ImportError:
        pass
    import syncopate.c10d
    from torch.testing._internal.common_distributed import DistTestCases
    for feature in ('ddp', 'subgroup', 'plugin'):
        DistTestCases.backend_feature.setdefault(feature, set()).add('syncopate')
    if asked.place_of_gloo:
        import torch.distributed.distributed_c10d as c10d
        c10d.ProcessGroupGloo = lambda store, rank, size, timeout: syncopate.c10d.ProcessGroup(
            store, rank, size, timeout)


def make_suite(asked):
    import torch.testing._internal.distributed.distributed_test as shipped
    if asked.place_of_gloo:  # Gloo's names of ranges in profiles, and their shapes, are not ours.
        shipped.PROFILING_SUPPORTED_BACKENDS = []
        shipped.SEND_RECV_PROFILING_SUPPORTED_BACKENDS = []
        shipped.CUDA_PROFILING_SUPPORTED_BACKENDS = []
    from torch.multiprocessing import get_context

    class Suite(shipped.TestDistBackend, shipped.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            # A rank that is spawned imports torch first, which takes longer than most tests.
            self._start_processes(get_context('fork').Process)

    names = asked.names or unittest.TestLoader().getTestCaseNames(Suite)
    if asked.place_of_gloo:
        names = [name for name in names if name not in FOR_GLOO_ITSELF]
    return unittest.TestSuite(Suite(name) for name in names)


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory() as folder:
        prepare(asked, folder)
        result = unittest.TextTestRunner(verbosity=2).run(make_suite(asked))
    failed = len(result.failures) + len(result.errors)
    ran = result.testsRun - len(result.skipped)
    print(f'{ran} ran with {asked.ranks} ranks, {failed} failed, {len(result.skipped)} are not for '
          f'this backend', flush=True)
    if ran < asked.at_least:
        print(f'fewer than {asked.at_least} ran', file=sys.stderr)
    return 1 if failed or ran < asked.at_least else 0


if __name__ == '__main__':
    sys.exit(main())
