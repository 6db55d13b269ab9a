"""The ranks that train together, and this process's place among them."""
import atexit
import threading
import weakref
from ctypes import byref, c_uint8

from . import _library as library


class World:
    """The world of this process: made once, by `syncopate.world()`."""

    def __init__(self, handle):
        self._handle = handle
        self._users = weakref.WeakSet()  # What must be closed before.
        place = library.Place()
        library.call('world_place', handle, byref(place))
        self.rank, self.size = place.rank, place.size
        self.local_rank, self.local_size = place.local_rank, place.local_size
        self.machine, self.machines = place.machine, place.machines

    @property
    def timeout(self):
        """How long any wait may last, in seconds."""
        return library.ask('world_timeout', self._handle)

    @timeout.setter
    def timeout(self, seconds):
        library.call('world_set_timeout', self._handle, seconds)

    @property
    def dead(self):
        """The ranks that are known to have died."""
        flags = (c_uint8 * self.size)()
        library.call('world_dead', self._handle, flags)
        return [rank for rank, flag in enumerate(flags) if flag]

    def barrier(self):
        library.call('barrier', self._handle)

    def broadcast_bytes(self, address, size, root):
        library.call('broadcast', self._handle, address, size, root)

    def close(self):
        """Leaves the others in good order. What was made in this world is closed first."""
        if self._handle is None:
            return
        for user in list(self._users):
            user.close()
        library.ask('world_free', self._handle)
        self._handle = None

    def __repr__(self):
        return f'<syncopate.World: rank {self.rank} of {self.size}>'


_lock = threading.Lock()
_world = None


def world():
    """The world that torchrun, mpirun, srun or `syncopate run` started this process in, or a world
    of one rank."""
    global _world
    with _lock:
        if _world is None:
            _world = World(library.make('world_from_environment'))
            atexit.register(_world.close)
        return _world


def replace(made):
    """Makes another world that of this process, and closes the one before."""
    global _world
    with _lock:
        before, _world = _world, made
        atexit.register(made.close)
    if before is not None:
        before.close()


def rank():
    return world().rank


def size():
    return world().size


def local_rank():
    """This rank among those of its machine: `torch.device('cuda', local_rank() % devices)`."""
    return world().local_rank


def barrier():
    """Returns when every live rank has called it. Not in the middle of rounds: in `every`."""
    world().barrier()
