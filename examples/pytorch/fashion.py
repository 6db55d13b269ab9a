#!/usr/bin/env python3
"""Fashion-MNIST with a small convolutional network: an ordinary script of PyTorch, and three lines.

    make data                                               # once; in data/, or SYNCOPATE_DATA
    python3 examples/pytorch/fashion.py                     # alone: plain training
    syncopate run -n 4 -- python3 examples/pytorch/fashion.py --strategy eager-solo
"""
import argparse
import os
import time

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import syncopate


def read(folder, part):
    """Images and labels of an IDX file each: headers of 16 and 8 bytes, and then bytes."""
    def values(kind, header):
        with open(os.path.join(folder, f'{part}-{kind}-ubyte'), 'rb') as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]
    images = values('images-idx3', 16).view(-1, 1, 28, 28).float().sub_(73).div_(90)
    return TensorDataset(images, values('labels-idx1', 8).long())


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32 * 7 * 7, 10))


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item()
                for images, labels in DataLoader(data, batch_size=1000))
    model.train()
    return 100 * right / len(data)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--strategy', default='eager-majority', help='see `syncopate strategies`')
    parser.add_argument('--batch', type=int, default=32, help='samples of a rank in a step')
    parser.add_argument('--rate', type=float, default=1e-3)
    parser.add_argument('--data', help='where make data has left it',
                        default=os.path.join(os.environ.get('SYNCOPATE_DATA', 'data'), 'fashion'))
    return parser.parse_args()


def main():
    options = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // syncopate.size()))
    training, test = read(options.data, 'train'), read(options.data, 't10k')
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), options.rate)
    # Line 1: the same optimizer, with a strategy around it.
    optimizer = syncopate.DistributedOptimizer(optimizer, model, options.strategy)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    # Line 2: a rank has its part of the data, as with DDP.
    sampler = DistributedSampler(training, syncopate.size(), syncopate.rank())
    batches = DataLoader(training, options.batch, sampler=sampler)

    began = time.perf_counter()
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for images, labels in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        scheduler.step()
    # Line 3: all ranks end together, with the same weights.
    optimizer.finish()
    if syncopate.rank() == 0:
        print(f'{options.strategy}, {syncopate.size()} rank(s): {accuracy(model, test):.2f} % after '
              f'{time.perf_counter() - began:.1f} s and {optimizer.rounds} rounds')


if __name__ == '__main__':
    main()
