"""A torch optimizer as the library sees it: all parameters as one vector of float32."""
import torch

from .errors import InvalidArgument
from .functional import memory_at

# An anticipated step below this is not worth its pass over the weights.
NOTABLE = 0.01
# How much the newest step counts in the running mean of masses.
NEWEST = 0.2
# Optimizers that are known not to write to gradients. Others get a copy of their own: what a round
# returns is memory that all ranks read.
READS_ONLY = {torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop,
              torch.optim.Adagrad, torch.optim.Adadelta, torch.optim.Adamax, torch.optim.NAdam,
              torch.optim.RAdam}


def parameters_of(optimizer):
    seen, parameters = set(), []
    for group in optimizer.param_groups:
        for parameter in group['params']:
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                parameters.append(parameter)
    if not parameters:
        raise InvalidArgument('the optimizer has no parameters that require a gradient',
                              'Give it those of the model')
    for parameter in parameters:
        if parameter.dtype != torch.float32 or parameter.device != parameters[0].device:
            raise InvalidArgument(
                f'a parameter is {parameter.dtype} on {parameter.device}, and the first one is on '
                f'{parameters[0].device}',
                'Move the whole model to one device, in float32 (autocast and GradScaler work)')
    return parameters


def strides_of(parameter):
    """Those it has, if its elements lie side by side; channels_last stays channels_last."""
    if parameter.is_contiguous():
        return parameter.stride()
    for form, dimensions in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
        if parameter.dim() == dimensions and parameter.is_contiguous(memory_format=form):
            return parameter.stride()
    return torch.empty(parameter.shape, device='meta').stride()


class Views:
    """A vector, and the parameters' places in it."""

    def __init__(self, flat, shapes):
        self.flat = flat
        self.each = []
        at = 0
        for shape, strides, length in shapes:
            self.each.append(torch.as_strided(flat, shape, strides, flat.storage_offset() + at))
            at += length


class Learner:
    """What a strategy asks of a model and its optimizer. `apply` steps the plain optimizer with the
    gradients that the parameters have."""

    def __init__(self, optimizer, plain, apply):
        self.parameters = parameters_of(optimizer)
        self.size = sum(parameter.numel() for parameter in self.parameters)
        self.device = self.parameters[0].device
        self.on_host = self.device.type == 'cpu'
        self._optimizer = optimizer
        self._apply = apply
        self._by_mass = issubclass(plain, torch.optim.SGD)
        self._needs_copy = plain not in READS_ONLY
        self.before_step = None  # Called with a private copy of the mean in place.
        self._shapes = [(parameter.shape, strides_of(parameter), parameter.numel())
                        for parameter in self.parameters]
        self._views = {}  # By address: the same few come again and again.
        self._own = Views(torch.empty(self.size, device=self.device), self._shapes)
        with torch.no_grad():
            for view, parameter in zip(self._own.each, self.parameters):
                view.copy_(parameter)
        self._weights = self._computing_at = self._own
        self._compute_at(self._own, moved=True)
        self._before = self._ahead = None
        self._stepped_mass = 1.0
        self._private = None
        self.gradient = None       # Views of where it goes, on the device.
        self._gradient_place = None  # On the host, if that is elsewhere.
        self._weights_place = None

    def has_momentum(self):
        return self._by_mass and self._optimizer.param_groups[0].get('momentum', 0) > 0

    def _host(self, address):
        return torch.frombuffer(memory_at(address, 4 * self.size), dtype=torch.float32)

    def _views_at(self, address):
        if address not in self._views:
            self._views[address] = Views(self._host(address), self._shapes)
        return self._views[address]

    def _compute_at(self, views, moved=False):
        if views is self._computing_at and not moved:
            return
        for parameter, view in zip(self.parameters, views.each):
            parameter.data = view
        self._computing_at = views

    # What a strategy asks for.
    def settle(self):
        self._compute_at(self._weights)

    def read_weights(self, address):
        self._host(address).copy_(self._weights.flat)

    def keep_weights_at(self, address):
        with torch.no_grad():
            if not self.on_host:
                self._weights_place = address
                if address:
                    self._weights.flat.copy_(self._host(address))
            elif address:
                self._weights = self._views_at(address)
            elif self._weights is not self._own:
                self._own.flat.copy_(self._weights.flat)
                self._weights = self._own
        self.settle()

    def write_gradient_to(self, address):
        if self.on_host:
            self.gradient = self._views_at(address)
            return
        self._gradient_place = address
        if self.gradient is None:
            self.gradient = Views(torch.zeros(self.size, device=self.device), self._shapes)

    def flush_weights(self):
        if not self.on_host and self._weights_place:
            self._host(self._weights_place).copy_(self._weights.flat)

    def flush_gradient(self):
        if not self.on_host:
            self._host(self._gradient_place).copy_(self.gradient.flat)

    def step(self, address, mass):
        with torch.no_grad():
            self.settle()
            if self._before is not None:
                self._before.copy_(self._weights.flat)
            # Other optimizers step about as far whatever the mass: their steps are told by its mean.
            self._stepped_mass += (1 if self._by_mass else NEWEST) * (mass - self._stepped_mass)
            for parameter, gradient in zip(self.parameters, self._applied(address).each):
                parameter.grad = gradient
            try:
                if self.before_step is not None:
                    self.before_step()
                self._step_by_mass(mass)
            finally:
                for parameter in self.parameters:
                    parameter.grad = None

    def _applied(self, address):
        """The mean: as all ranks read it, or a copy where this rank may write to it."""
        if self.on_host and not self._needs_copy and self.before_step is None:
            return self._views_at(address)
        if self._private is None:
            self._private = Views(torch.empty(self.size, device=self.device), self._shapes)
        self._private.flat.copy_(self._host(address))
        return self._private

    def _step_by_mass(self, mass):
        if not self._by_mass or mass == 1:
            self._apply()
            return
        # A round with part of the gradients is part of a step: velocity and weights decay by as much
        # less, and a gradient moves the weights in total as far as in a whole step.
        groups = self._optimizer.param_groups
        whole = [(group['lr'], group['momentum'], group['weight_decay']) for group in groups]
        for group in groups:
            momentum = group['momentum']
            if momentum > 0:
                decay = momentum ** mass
                group['lr'] = group['lr'] * (1 - decay) / (1 - momentum)
                group['momentum'] = decay
            group['weight_decay'] = group['weight_decay'] * mass
        try:
            self._apply()
        finally:
            for group, (rate, momentum, decay) in zip(groups, whole):
                group['lr'], group['momentum'], group['weight_decay'] = rate, momentum, decay

    def anticipate(self, mass):
        with torch.no_grad():
            if self._before is None:
                self._before = self._weights.flat.clone()
                self._ahead = Views(torch.empty_like(self._before), self._shapes)
            if mass < NOTABLE:
                self.settle()
                return
            ahead = self._ahead.flat
            torch.sub(self._weights.flat, self._before, out=ahead)
            ahead.mul_(mass / self._stepped_mass).add_(self._weights.flat)
            self._compute_at(self._ahead)

    # For a checkpoint: what anticipated weights go by.
    def heading(self):
        if self._before is None:
            return None
        return {'before': self._before.detach().cpu().clone(), 'mass': self._stepped_mass}

    def set_heading(self, heading):
        before = heading['before']
        if before.numel() != self.size or not heading['mass'] > 0:
            raise InvalidArgument(f'a heading of {before.numel()} weights for {self.size}',
                                  'Load what was saved with the same model')
        with torch.no_grad():
            self._before = self._weights.flat.clone()
            self._before.copy_(before)
            self._ahead = Views(torch.empty_like(self._before), self._shapes)
        self._stepped_mass = float(heading['mass'])

    def weights(self):
        return self._weights.flat
