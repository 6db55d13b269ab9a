"""DistributedOptimizer: a strategy around an ordinary torch optimizer, which stays what it is."""
import collections
import contextlib
import time
import zlib
from ctypes import POINTER, byref, c_float, c_int, c_int64, c_size_t

import torch

from . import _library as library
from . import _state
from ._learner import Learner
from ._schedules import Schedules, watch
from .errors import Closed, InvalidArgument, Mismatch
from .functional import Receipt, sums_of
from .world import world as the_world

# How many receipts an optimizer keeps.
KEPT_RECEIPTS = 1000
_NOT_HYPERPARAMETERS = ('params', 'initial_lr', 'max_lr', 'min_lr')


class _Distributed:
    """What an optimizer's class gets in front of it."""

    def zero_grad(self, set_to_none=True):
        """Gradients of the next step begin at zero. (Memory that was deposited is not touched.)"""
        for parameter in self._engine.learner.parameters:
            parameter.grad = None

    def step(self, closure=None, **options):
        """Exchanges, and applies what there is to apply: usually one round."""
        self._step_count = getattr(self, '_step_count', 0) + 1  # What schedulers of torch 1 ask,
        self._opt_called = True                                 # and what those of torch 2 do.
        return self._engine.step(closure, options.get('grad_scaler'))

    # So that schedulers leave it alone: they would put a step() of their own around it.
    step._with_counter = step._wrapped_by_lr_sched = True

    # A GradScaler hands its factor over instead of leaving a step out, which others would wait for.
    _step_supports_amp_scaling = True

    def finish(self):
        """All ranks end together; nothing that was carried is lost. Raises Mismatch if the replicas
        are not equal then, bit for bit."""
        self._engine.finish()

    def leave(self):
        """Goes without the others, who stop counting on this rank."""
        self._engine.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, exception, trace):
        self.finish() if kind is None else self.leave()

    def every(self, rounds):
        """A decorator: calls the function on all ranks after the same round, about every so many.
        There evaluate, save, wait for all ranks at will. docs/pytorch.md says more."""
        def arrange(function):
            self._engine.every(rounds, function)
            return function
        return arrange

    def on_round(self, function):
        """Calls `function(receipt)` for each round that this rank applies. Usable as a decorator."""
        self._engine.on_round.append(function)
        return function

    def stop(self):
        """Asks all ranks to end: `stopped` is true on all of them after the same round."""
        library.call('loop_stop', self._engine.loop)

    @property
    def stopped(self):
        return bool(library.ask('loop_stopped', self._engine.loop))

    @property
    def rounds(self):
        """Rounds so far on which all ranks agreed."""
        return library.ask('loop_rounds', self._engine.loop)

    @property
    def receipts(self):
        """Of the last rounds, oldest first."""
        return self._engine.receipts

    @contextlib.contextmanager
    def no_sync(self):
        """As DDP's, for loops that have it: gradients add up until step() is called, in any case."""
        yield

    # For strategies that ask for more (dropcompute, biased-local).
    @property
    def parts(self):
        return library.ask('loop_parts', self._engine.loop)

    def enough(self):
        """After a part of a step: whether to stop there and call step()."""
        return self._engine.enough()

    def choose(self, count):
        """The samples that the strategy wants next; an empty list if it leaves that to the program."""
        return self._engine.choose(count)

    def note_losses(self, samples, losses):
        self._engine.note_losses(samples, losses)

    def state_dict(self):
        state = super().state_dict()
        state['syncopate'] = self._engine.state_dict()
        return state

    def load_state_dict(self, state):
        state = dict(state)
        ours = state.pop('syncopate', None)
        super().load_state_dict(state)
        self._engine.load_state_dict(ours)


class _Engine:
    """The loop of one optimizer: gradients into the slot, rounds out of it."""

    def __init__(self, optimizer, module, strategy, plain, options):
        self.world = options.pop('world') or the_world()
        self.optimizer, self.module, self.plain = optimizer, module, plain
        self._before_step = options.pop('before_step')
        self._max_norm = options.pop('max_norm')
        self.learner = Learner(optimizer, plain, lambda: plain.step(optimizer))
        if self._before_step is not None or self._max_norm is not None:
            self.learner.before_step = self._clip
        self.receipts = collections.deque(maxlen=KEPT_RECEIPTS)
        self.on_round = []
        self.loop = None
        self._begun = self._in_meeting = self._stepped = self._finished = False
        self._averaged_after = 0
        self._callbacks = []
        self._hooks = []
        self._make_loop(strategy, options)
        self._share_buffers()
        self._rates = None
        self._watch_gradients()
        if module is not None:
            self._hooks.append(module.register_forward_pre_hook(self._before_forward))
        self.world._users.add(self)

    def _make_loop(self, strategy, options):
        learner = self.learner

        def called(kind, function):
            made = library.callback(kind, function)
            self._callbacks.append(made)
            return made

        address = library.CallWithAddress
        calls = library.Learner(
            None, learner.size, learner.has_momentum(),
            called(address, lambda _, place: learner.read_weights(place)),
            called(address, lambda _, place: learner.keep_weights_at(place)),
            called(address, lambda _, place: learner.write_gradient_to(place)),
            called(library.Call, lambda _: learner.flush_weights()),
            called(library.Call, lambda _: learner.flush_gradient()),
            called(library.CallWithStep, lambda _, place, mass: learner.step(place, mass)),
            called(library.CallWithNumber, lambda _, mass: learner.anticipate(mass)),
            called(library.Call, lambda _: learner.settle()),
            called(library.CallWithExchange, lambda _, told: self._exchanged(told.contents)))
        made = library.LoopOptions(options['seed'], options['samples'], options['batch'])
        self.loop = library.make('loop_new', self.world._handle, byref(calls), strategy.encode(),
                                 byref(made))
        self.optimizer._schedules = Schedules(self.loop, self.optimizer, self._note_rates)

    # Gradients.
    def _watch_gradients(self):
        """Each gradient goes to its place in the slot as soon as autograd has it, while it is in the
        caches. The parameter's .grad is that place then."""
        self._nodes = []
        for index, parameter in enumerate(self.learner.parameters):
            if hasattr(parameter, 'register_post_accumulate_grad_hook'):
                hook = parameter.register_post_accumulate_grad_hook(
                    lambda parameter, index=index: self._has_gradient(index, parameter))
            else:
                node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
                self._nodes.append(node)  # It goes with the last reference, and its hook with it.
                hook = node.register_hook(
                    lambda *_, index=index, parameter=parameter: self._has_gradient(index, parameter))
            self._hooks.append(hook)

    def _has_gradient(self, index, parameter):
        if self._finished or self._in_meeting:
            return
        self.begin()
        place = self.learner.gradient.each[index]
        if self._move_gradient(place, parameter.grad) and not parameter.grad.requires_grad:
            parameter.grad = place

    @staticmethod
    def _move_gradient(place, gradient):
        """Returns whether it had to be moved: if it is in its place already, it was added to there."""
        if not gradient.is_sparse and gradient.data_ptr() == place.data_ptr():
            return False
        with torch.no_grad():
            if gradient.is_sparse:
                place.zero_().add_(gradient)
            else:
                place.copy_(gradient)
        return True

    def _gather_gradients(self):
        """Whatever the program has done to .grad since: what is there counts."""
        for parameter, place in zip(self.learner.parameters, self.learner.gradient.each):
            if parameter.grad is None:
                place.zero_()
            elif parameter.grad is not place:
                self._move_gradient(place, parameter.grad)
            parameter.grad = None  # What is deposited is not the program's any more.

    # Steps.
    def _before_forward(self, module, _):
        if module.training and torch.is_grad_enabled() and not (self._finished or self._in_meeting):
            self.begin()

    def begin(self):
        if self._begun:
            return
        self._check_open()
        if not self._stepped:
            self._compare_rates()
        library.call('loop_begin_step', self.loop)
        self._begun = True
        self._began = time.perf_counter()

    def step(self, closure, grad_scaler):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check_open()
        self.begin()
        self._check_rates()
        with torch.no_grad():
            finite = self._unscale(grad_scaler)
            self._gather_gradients()
            if not finite:
                self.learner.gradient.flat.zero_()
        self._begun = False
        self._stepped = True
        with _profiled('syncopate:exchange'):
            library.call('loop_end_step', self.loop, time.perf_counter() - self._began)
        return loss

    def _unscale(self, grad_scaler):
        """Returns whether the gradients are finite. Each rank divides by its own factor before its
        gradients meet others; those that are not finite count as zero."""
        optimizer = self.optimizer
        if grad_scaler is not None:
            found = grad_scaler._per_optimizer_states[id(optimizer)]
            if found['stage'].name == 'READY':
                grad_scaler.unscale_(optimizer)
            return not any(bool(flag.item()) for flag in found['found_inf_per_device'].values())
        flag = getattr(optimizer, 'found_inf', None)
        if flag is None:
            return True
        factor = getattr(optimizer, 'grad_scale', None)
        if factor is not None:
            for parameter in self.learner.parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(factor.to(parameter.device))
        optimizer.grad_scale = optimizer.found_inf = None  # It is done: not for the plain optimizer.
        return not bool(flag.item())

    def _clip(self):
        if self._max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.learner.parameters, self._max_norm)
        if self._before_step is not None:
            self._before_step()

    def _exchanged(self, told):
        receipt = Receipt(told.number, told.contributors, bool(told.included), told.staleness,
                          told.mass * self.world.size, told.waited,
                          told.waited_for if told.waited_for >= 0 else None, told.dropped,
                          False)
        self.receipts.append(receipt)
        if receipt.waited_for is not None:
            with _profiled(f'syncopate:wait(rank {receipt.waited_for})'):
                pass
        for function in self.on_round:
            function(receipt)

    # Rates. A step is applied by all ranks at the same rate, or replicas drift apart.
    def _hyperparameters(self):
        return [{name: value.item() if torch.is_tensor(value) and value.numel() == 1 else value
                 for name, value in group.items() if name not in _NOT_HYPERPARAMETERS}
                for group in self.optimizer.param_groups]

    def _note_rates(self):
        self._rates = self._hyperparameters()

    def _check_rates(self):
        if self._rates is None:
            return
        now = self._hyperparameters()
        for number, (before, after) in enumerate(zip(self._rates, now)):
            for name in after:
                if before.get(name) != after[name]:
                    raise InvalidArgument(
                        f"'{name}' of parameter group {number} was changed from "
                        f'{before.get(name)} to {after[name]} in the middle of rounds',
                        'Use a scheduler of torch.optim.lr_scheduler, or change it on all ranks '
                        'alike in a function that every(rounds=…) calls')
        if len(now) != len(self._rates):
            raise InvalidArgument('a parameter group was added in the middle of training',
                                  'Add all groups before the optimizer becomes distributed')

    def _compare_rates(self):
        """All ranks begin with the same ones."""
        self._note_rates()
        if self.world.size > 1 and self._rates_differ():
            raise Mismatch('the ranks have different hyperparameters',
                           'Make the optimizer with the same arguments on all ranks')

    def _rates_differ(self):
        mine = zlib.crc32(repr([sorted(group.items(), key=lambda item: item[0])
                                for group in self._rates]).encode())
        all_of_them = torch.zeros(self.world.size, dtype=torch.float64)
        all_of_them[self.world.rank] = mine
        sums_of(self.world).run(all_of_them, 'none')
        return bool((all_of_them != mine).any())

    # Meetings.
    def every(self, rounds, function):
        def meeting(_):
            self._in_meeting = True
            try:
                self._average_buffers_once()
                function()
            finally:
                self._in_meeting = False
            self._note_rates()
        made = library.callback(library.Call, meeting)
        self._callbacks.append(made)
        library.call('loop_every', self.loop, rounds, made, None)

    def _buffers(self):
        return list(self.module.buffers()) if self.module is not None else []

    def _share_buffers(self):
        for buffer in self._buffers():
            host = buffer.detach().contiguous().cpu()
            self.world.broadcast_bytes(host.data_ptr(), host.numel() * host.element_size(), 0)
            with torch.no_grad():
                buffer.copy_(host)

    def _average_buffers_once(self):
        """Statistics of batch norm differ by rank, as its batches do: where ranks meet they become
        their means. Counts stay as they are."""
        rounds = library.ask('loop_rounds', self.loop)
        if self._averaged_after == rounds or self.world.size == 1:
            return
        self._averaged_after = rounds
        self._average_buffers()

    def _average_buffers(self):
        buffers = [buffer for buffer in self._buffers() if buffer.is_floating_point()]
        if not buffers or self.world.size == 1:
            return
        with torch.no_grad():
            flat = torch.cat([buffer.detach().reshape(-1).to('cpu', torch.float32)
                              for buffer in buffers])
            sums_of(self.world).run(flat, 'contributors')
            at = 0
            for buffer in buffers:
                buffer.copy_(flat[at:at + buffer.numel()].view(buffer.shape))
                at += buffer.numel()

    def finish(self):
        if self._finished:
            return
        self._check_open()
        if self._begun:  # A forward pass without a step: its gradient was not wanted.
            self._abandon_step()
        library.call('loop_finish', self.loop)
        self._average_buffers()
        self._finished = True
        self._unhook()
        for parameter in self.learner.parameters:
            parameter.grad = None

    def _abandon_step(self):
        self._begun = False
        for parameter in self.learner.parameters:
            parameter.grad = None

    # Steps in parts, and samples.
    def enough(self):
        self.begin()
        answer = c_int()
        library.call('loop_enough', self.loop, time.perf_counter() - self._began, byref(answer))
        return bool(answer.value)

    def choose(self, count):
        samples, length = (c_int64 * count)(), c_size_t(count)
        library.call('loop_choose', self.loop, samples, byref(length))
        return list(samples[:length.value])

    def note_losses(self, samples, losses):
        samples = torch.as_tensor(samples, dtype=torch.int64).contiguous()
        losses = torch.as_tensor(losses, dtype=torch.float32).detach().cpu().contiguous()
        if samples.numel() != losses.numel():
            raise InvalidArgument(f'{samples.numel()} samples with {losses.numel()} losses',
                                  'Give a loss for each sample')
        library.call('loop_note_losses', self.loop,
                     library.ctypes.cast(samples.data_ptr(), POINTER(c_int64)),
                     library.ctypes.cast(losses.data_ptr(), POINTER(c_float)), samples.numel())

    # Checkpoints.
    def state_dict(self):
        """What all ranks have under way; the same on every rank."""
        return {'version': 1, 'entries': _state.read(self.loop), 'heading': self.learner.heading(),
                'ranks': self.world.size}

    def load_state_dict(self, state):
        """Before the first step, on all ranks; any number of them."""
        self._rates = None
        if state is None:
            return  # Of the plain optimizer: nothing was under way.
        if state.get('version') != 1:
            raise InvalidArgument(f"a state of version {state.get('version')}",
                                  'Load one that this version of Syncopate has saved')
        _state.write(self.loop, state['entries'])
        if state['heading'] is not None:
            self.learner.set_heading(state['heading'])

    # The end.
    def _check_open(self):
        if self.loop is None or self._finished:
            raise Closed('an optimizer was used after finish() or leave()', 'Make a new one')

    def _unhook(self):
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._nodes = [], []

    def close(self):
        if self.loop is None:
            return
        self._unhook()
        loop, self.loop = self.loop, None
        library.ask('loop_free', loop)


@contextlib.contextmanager
def _profiled(name):
    if torch.autograd._profiler_enabled():
        with torch.autograd.profiler.record_function(name):
            yield
    else:
        yield


def DistributedOptimizer(optimizer, module=None, strategy='eager-majority', *, before_step=None,
                         max_norm=None, samples=0, batch=0, seed=1, world=None):
    """Puts a strategy around `optimizer` and returns the same object, which is still what it was.

    module       whose forward pass begins a step, and whose buffers (batch norm) ranks average
    strategy     see `syncopate strategies`, or syncopate.strategies()
    before_step  called before each round is applied, with the mean in .grad, a private copy:
                 clip gradients here
    max_norm     the same in a word: clips the norm of the mean
    samples, batch, seed   for strategies that choose samples or draw lots

    All ranks start with rank 0's weights and buffers. docs/pytorch.md says what is safe, and how.
    """
    if isinstance(optimizer, _Distributed):
        raise InvalidArgument('the optimizer is distributed already', 'Wrap it once')
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InvalidArgument(f'a {type(optimizer).__name__} is no torch.optim.Optimizer',
                              'Give the optimizer first, then the module, then the strategy')
    if isinstance(module, str):
        raise InvalidArgument('the module is a string', 'Give the optimizer first, then the module, '
                              'then the strategy')
    watch()
    plain = optimizer.__class__
    engine = _Engine(optimizer, module, strategy, plain, dict(
        before_step=before_step, max_norm=max_norm, samples=samples, batch=batch, seed=seed,
        world=world))
    # A scheduler that was made before has put a step() of its own on the instance, around the plain
    # one: it only counts calls.
    optimizer.__dict__.pop('step', None)
    optimizer.__class__ = type(plain.__name__, (_Distributed, plain), {'__module__': plain.__module__})
    optimizer._engine = engine
    return optimizer
