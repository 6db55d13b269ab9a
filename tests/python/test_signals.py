"""What happens to ranks that are interrupted, that end without finish(), or that start workers.
Starts its jobs itself; SYNCOPATE_PROGRAM is the program `syncopate`."""
import os
import subprocess
import sys
import textwrap
import time

PROGRAM = os.environ['SYNCOPATE_PROGRAM']
BEGIN = '''
import os, signal, sys, threading, time
import torch, syncopate
torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
optimizer = syncopate.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model, "sync")
def step():
    optimizer.zero_grad()
    model(torch.randn(3, 4)).sum().backward()
    optimizer.step()
'''


def run(ranks, script, seconds=60):
    command = [PROGRAM, 'run', '-n', str(ranks), '--', sys.executable, '-c',
               BEGIN + textwrap.dedent(script)]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds, check=False)
    print(done.stdout)
    return done.returncode, done.stdout, time.monotonic() - began


def test_ctrl_c_ends_a_rank_that_waits_within_a_second():
    code, said, _ = run(2, '''
        step()
        if syncopate.rank() == 1:
            time.sleep(3)
            step()
        else:
            sent = []
            def interrupt():
                time.sleep(1)
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            try:
                step()
                print("not interrupted")
            except KeyboardInterrupt:
                print("interrupted in time" if time.monotonic() - sent[0] < 1 else "interrupted late")
                # The deposit is on the board: the rank can go on.
        optimizer.finish()
        ''')
    assert code == 0 and 'interrupted in time' in said


def test_an_exception_in_a_callback_reaches_the_caller_as_it_was():
    code, said, _ = run(1, '''
        optimizer.on_round(lambda receipt: 1 / 0)
        try:
            step()
        except ZeroDivisionError:
            print("as it was")
        ''')
    assert code == 0 and 'as it was' in said


def test_ranks_that_end_without_finish_end_at_once():
    for ending in ('pass', 'sys.exit(3)', 'raise RuntimeError("on purpose")', 'os._exit(0)'):
        code, said, took = run(2, f'step()\nsyncopate.barrier()\n{ending}')
        assert took < 40, ending
        assert (code == 0) == (ending in ('pass', 'os._exit(0)')), said


def test_a_rank_that_is_killed_is_not_waited_for():
    command = ('step(); syncopate.barrier()\n'
               'if syncopate.rank() == 1: os.kill(os.getpid(), signal.SIGKILL)\n'
               'began = time.monotonic()\n'
               'for _ in range(3): step()\n'
               'optimizer.finish()\n'
               'print("went on", syncopate.world().dead, time.monotonic() - began < 10)')
    done = subprocess.run([PROGRAM, 'run', '--survive', '-n', '3', '--', sys.executable, '-c',
                           BEGIN + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, check=False)
    assert done.stdout.count('went on [1] True') == 2, done.stdout


def test_forked_workers_leave_the_world_alone():
    code, said, _ = run(2, '''
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(12, 4))
        for epoch in range(2):
            for inputs, in DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork"):
                optimizer.zero_grad()
                model(inputs).sum().backward()
                optimizer.step()
        optimizer.finish()
        print("rounds", optimizer.rounds, syncopate.world().dead)
        ''')
    assert code == 0 and said.count('rounds 6 []') == 2
