"""The world of a process group: the launcher's, or one whose ranks meet through the group's store."""
import os
import socket
import uuid

from . import _library as library
from .errors import EnvironmentProblem
from .world import World, replace
from .world import world as the_world

_LAUNCHERS = ('SYNCOPATE_RANK', 'SYNCOPATE_RANKS', 'SYNCOPATE_BOARD')


def world_of(store, rank, size, again):
    """For all ranks of the job. Where no launcher has made a world of them, they must be on one
    machine; their world is syncopate.world() then. `again`: they have met already."""
    found = the_world()
    met_by_store = getattr(found, 'met_by_store', False)
    if (found.rank, found.size) == (rank, size) and (again or not met_by_store):
        return found
    if found.size > 1 and not met_by_store:
        raise EnvironmentProblem(
            f'this process is rank {found.rank} of {found.size} for its launcher, and rank {rank} '
            f'of {size} for init_process_group', 'Leave rank and world_size out')
    return _meet(store, rank, size)


def _machine():
    with open('/proc/sys/kernel/random/boot_id') as file:
        return f'{socket.gethostname()} {file.read().strip()}'


def _meet(store, rank, size):
    if rank == 0:
        store.set('name', uuid.uuid4().hex)
    store.set(f'machine of {rank}', _machine())
    machines = {store.get(f'machine of {other}') for other in range(size)}
    if len(machines) > 1:
        raise EnvironmentProblem(f'{len(machines)} machines, and no launcher that connects them',
                                 'Start the ranks with mpirun or srun')
    made = World(_handle(store.get('name').decode(), rank, size))
    made.met_by_store = True
    replace(made)
    return made


def _handle(name, rank, size):
    """As torchrun starts ranks, for as long as it takes."""
    wanted = dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=size,
                  MASTER_ADDR='localhost', MASTER_PORT=0, TORCHELASTIC_RUN_ID=name,
                  TORCHELASTIC_RESTART_COUNT=0)
    before = {variable: os.environ.get(variable) for variable in (*wanted, *_LAUNCHERS)}
    try:
        for variable in _LAUNCHERS:
            os.environ.pop(variable, None)
        os.environ.update({variable: str(value) for variable, value in wanted.items()})
        return library.make('world_from_environment')
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
