"""What can go wrong, an exception for each code of docs/errors.md."""


class Error(RuntimeError):
    """What happened, and what to do about it."""

    code = 'other'

    def __init__(self, what_happened, what_to_do=''):
        sentences = [text.rstrip('.') + '.' for text in (what_happened, what_to_do) if text]
        super().__init__(' '.join(sentences))
        self.what_happened = what_happened
        self.what_to_do = what_to_do


class InvalidArgument(Error, ValueError):
    """An argument is outside what is allowed; nothing was started."""
    code = 'invalid_argument'


class Mismatch(Error):
    """Ranks disagree: about a collective, or about their replicas."""
    code = 'mismatch'


class Timeout(Error, TimeoutError):
    """A wait reached its deadline; the message names whom it waited for."""
    code = 'timeout'


class EnvironmentProblem(Error):
    """The launcher's variables, or the board that they name, cannot be used."""
    code = 'environment'


class OutOfMemory(Error, MemoryError):
    """The board does not fit into the memory that this machine or container allows."""
    code = 'out_of_memory'


class Closed(Error):
    """A thing was used after its end, or in a forked child."""
    code = 'closed'


class RankLost(Error):
    """A rank that this call needs has died, or this one counts as dead."""
    code = 'rank_lost'


class MachineLost(Error):
    """Another machine, or what speaks for this one, is gone: the job is over."""
    code = 'machine_lost'


class Interrupted(Error):
    """The program wanted a wait to end."""
    code = 'interrupted'


# By their numbers in syncopate.h.
BY_STATUS = {1: InvalidArgument, 2: Mismatch, 3: Timeout, 4: EnvironmentProblem, 5: OutOfMemory,
             6: Closed, 7: RankLost, 8: MachineLost, 9: Interrupted}
