"""Two ranks train with unequal data, and print what is left: the same on both."""
import zlib

import torch

import syncopate

torch.manual_seed(syncopate.rank())
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = syncopate.DistributedOptimizer(torch.optim.Adam(model.parameters(), 1e-2), model,
                                           'eager-majority')
for step in range(20 + 5 * syncopate.rank()):
    inputs = torch.randn(8, 4)
    optimizer.zero_grad()
    (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
optimizer.finish()
weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
print(f'of {syncopate.size()} ranks: {zlib.crc32(weights.numpy().tobytes()):08x}', flush=True)
