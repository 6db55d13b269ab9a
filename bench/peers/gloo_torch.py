"""Gloo's allreduce on the work of `syncopate bench`, through PyTorch.

Takes the place of peer_gloo where Gloo is installed only as a part of PyTorch. Starts its
ranks itself: gloo_torch.py RANKS WORKLOAD. The loops are those of measure.h.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

VALUE_PERIOD = 8  # as in values.h
FEWEST, MOST = 10, 50_000  # iterations, as in measure.h
LARGE = 2 << 20  # elements, as in measure.h

DEFAULTS = {
    "skew": "none", "bytes": [8], "iterations": 0, "seconds": 0.5, "warmup": 10, "touch": True,
    "read": False, "average": False, "skew_ms": 1.0, "slow_ms": 32.0, "fast_ms": 1.0,
}


class Rank:
    def __init__(self, work, elements):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.work = torch, dist, work
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        places = torch.arange(elements) % VALUE_PERIOD
        self.values = places + float(self.rank + 1)
        self.expected_sum = places * float(self.ranks) + self.ranks * (self.ranks + 1) / 2
        even = (torch.arange(elements) % 2 == 0).float()
        self.marks = (even, 1 - even)
        self.buffer = torch.zeros(elements)

    def exchange(self):
        self.dist.all_reduce(self.buffer)
        if self.work["average"]:
            self.buffer.mul_(1.0 / self.ranks)

    def averaged(self, values, contributing):
        tensor = self.torch.tensor(values, dtype=self.torch.float64)
        self.dist.all_reduce(tensor)
        return (tensor / contributing).tolist()

    def expect(self, expected):
        if not self.torch.equal(self.buffer, expected):
            raise RuntimeError("wrong result of all_reduce")

    def plain_call(self):
        if self.work["touch"]:
            self.buffer.copy_(self.values)
        self.dist.barrier()
        begin = time.perf_counter()
        self.exchange()
        if self.work["read"]:
            self.buffer.sum()
        return (time.perf_counter() - begin) * 1e6

    def verify_sum(self):
        self.buffer.copy_(self.values)
        self.exchange()
        self.expect(self.expected_sum)

    def agree_on_iterations(self):
        warmup = self.work["warmup"] if len(self.buffer) < LARGE else self.work["warmup"] // 5
        each = []
        for _ in range(max(warmup, 1)):
            begin = time.perf_counter()
            self.plain_call()
            each.append(time.perf_counter() - begin)
        if self.work["iterations"] > 0:
            return self.work["iterations"]
        usual = self.averaged([statistics.median(each)], self.ranks)[0]
        return int(min(max(self.work["seconds"] / usual, FEWEST), MOST))

    def measure_plain(self):
        self.verify_sum()
        if not self.work["touch"]:
            self.buffer.zero_()
        times = [self.plain_call() for _ in range(self.agree_on_iterations())]
        self.verify_sum()
        return describe(self.averaged(times, self.ranks))

    def skewed_call(self, iteration, milliseconds):
        mark = self.marks[iteration % 2]
        self.buffer.copy_(mark)
        if self.work["skew"] == "arrival":
            self.dist.barrier()
        time.sleep(milliseconds / 1e3)
        begin = time.perf_counter()
        self.exchange()
        elapsed = (time.perf_counter() - begin) * 1e6
        if not self.work["average"]:
            self.expect(mark * self.ranks)
        return elapsed

    def measure_arrival(self):
        delay = self.rank * self.work["skew_ms"]
        times = [self.skewed_call(i, delay) for i in range(self.work["iterations"])]
        return describe(self.averaged(times, self.ranks))

    def measure_chronic(self):
        slow = self.rank == 0
        steps, calls = [], []
        self.dist.barrier()
        start = time.perf_counter()
        for i in range(self.work["iterations"]):
            begin = time.perf_counter()
            calls.append(self.skewed_call(i, self.work["slow_ms" if slow else "fast_ms"]))
            steps.append((time.perf_counter() - begin) * 1e6)
        elapsed = time.perf_counter() - start
        others = [elapsed, statistics.fmean(calls)]
        keep = 0.0 if slow else 1.0
        steps = self.averaged([keep * step for step in steps], self.ranks - 1)
        elapsed, call = self.averaged([keep * value for value in others], self.ranks - 1)
        row = describe(steps)
        row.update(rounds_per_second=len(steps) / elapsed, call_mean_us=call)
        return row


def describe(times):
    ordered = sorted(times)
    at = max(-(-99 * len(ordered) // 100) - 1, 0)
    return {
        "iterations": len(times), "median_us": statistics.median(times),
        "p99_us": ordered[at], "mean_us": statistics.fmean(times),
    }


def run_rank(rank, ranks, meeting_place, work):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{meeting_place}", rank=rank,
                            world_size=ranks)
    for size in work["bytes"]:
        side = Rank(work, size // 4)
        measure = {"none": side.measure_plain, "arrival": side.measure_arrival,
                   "chronic": side.measure_chronic}[work["skew"]]
        row = measure()
        if rank == 0:
            row.update(bytes=size, contributors_mean=ranks,
                       library=f"Gloo in PyTorch {torch.__version__}")
            print(json.dumps(row), flush=True)
    dist.barrier()


def run_all(ranks, workload):
    """Starts the ranks; if one fails the others are ended, since they would wait for it."""
    with tempfile.TemporaryDirectory() as folder:
        meeting_place = os.path.join(folder, "meeting")
        children = [
            subprocess.Popen([sys.executable, __file__, str(ranks), workload, str(rank),
                              meeting_place])
            for rank in range(ranks)
        ]
        while any(child.poll() is None for child in children):
            if any(child.poll() for child in children):
                for child in children:
                    child.kill()
            time.sleep(0.01)
        return 1 if any(child.returncode for child in children) else 0


def main():
    if len(sys.argv) == 5:
        work = {**DEFAULTS, **json.loads(sys.argv[2])}
        run_rank(int(sys.argv[3]), int(sys.argv[1]), sys.argv[4], work)
        return 0
    if len(sys.argv) != 3:
        print(f"usage: {sys.argv[0]} RANKS WORKLOAD (as JSON)", file=sys.stderr)
        return 2
    return run_all(int(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
