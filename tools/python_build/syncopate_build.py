"""Builds the Python package for pip: a PEP 517 back end of its own, which needs nothing but Python.

pip installs what a back end requires before it runs one, which takes a network. This one requires
nothing: it lets CMake make the C API as one library, and writes the wheel. The library knows neither
Python nor torch, so one wheel serves every version of both. Nothing is written into the tree, unless
the package is installed as editable (`pip install -e .`).
"""
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = 'syncopate'
LIBRARY = 'libsyncopate_c.so'
# What the library is built from, and so all that is in a source distribution.
SOURCES = ('CMakeLists.txt', 'LICENSE', 'README.md', 'cmake', 'include', 'pyproject.toml', 'python',
           'src', 'tools/python_build')
# Files of a wheel have no date of their own: the same sources make the same wheel.
DATE = (2020, 1, 1, 0, 0, 0)


def _of_project(word):
    """What CMakeLists.txt says about the project: its version is written there and nowhere else."""
    found = re.search(rf'project\(syncopate[^)]*\b{word}\s+(?:"([^"]+)"|([\w.]+))',
                      (ROOT / 'CMakeLists.txt').read_text())
    if not found:
        raise SystemExit(f'syncopate: CMakeLists.txt has no {word} of the project.')
    return found[1] or found[2]


def _version():
    return _of_project('VERSION')


def _tag():
    return 'py3-none-' + re.sub(r'[-.]', '_', sysconfig.get_platform())


def _info():
    return f'{NAME}-{_version()}.dist-info'


def _metadata():
    """torch is not in it: the package takes the one that is there, wherever it came from."""
    return '\n'.join((
        'Metadata-Version: 2.1', f'Name: {NAME}', f'Version: {_version()}',
        f'Summary: {_of_project("DESCRIPTION")}', 'License: Apache-2.0', 'License-File: LICENSE',
        'Requires-Python: >=3.9', 'Description-Content-Type: text/markdown', '',
        (ROOT / 'README.md').read_text()))


def _information():
    """The files of the wheel that are about it."""
    return {
        'METADATA': _metadata(),
        'WHEEL': f'Wheel-Version: 1.0\nGenerator: syncopate_build\nRoot-Is-Purelib: false\n'
                 f'Tag: {_tag()}\n',
        'entry_points.txt': '[torch.distributed.backends]\nsyncopate = syncopate.c10d:register\n',
        'LICENSE': (ROOT / 'LICENSE').read_text(),
    }


def _check_tools():
    if not shutil.which('cmake'):
        raise SystemExit('syncopate: CMake was not found, and the package has a library to compile. '
                         'Install CMake 3.22 or newer (on Debian: apt-get install cmake).')
    compiler = os.environ.get('CXX', '').split()[:1] or ['c++', 'g++', 'clang++']
    if not any(shutil.which(name) for name in compiler):
        raise SystemExit(f'syncopate: no C++ compiler was found (looked for {", ".join(compiler)}). '
                         'Install one that knows C++20 (on Debian: apt-get install g++), or name '
                         'it in CXX.')


def _jobs():
    return [] if 'CMAKE_BUILD_PARALLEL_LEVEL' in os.environ else \
        ['--parallel', str(len(os.sched_getaffinity(0)))]


def _outside():
    """The environment without pip's isolation, which hides the modules of programs that are written
    in Python: such as a cmake, or a ninja, that was itself installed by pip."""
    hidden = ('PYTHONPATH', 'PYTHONNOUSERSITE')
    return {name: value for name, value in os.environ.items() if name not in hidden}


def _compile(build):
    """The library in the folder `build`; returns where it is."""
    _check_tools()
    # Messages and symbols name files as the tree does, wherever it was when they were compiled.
    flags = [os.environ.get('CXXFLAGS', '')] + [f'"-ffile-prefix-map={folder}=."'
                                                 for folder in (build, ROOT)]
    generator = ['-G', 'Ninja'] if shutil.which('ninja') and 'CMAKE_GENERATOR' not in os.environ else []
    commands = (
        ['cmake', '-S', ROOT, '-B', build, *generator, '-DCMAKE_BUILD_TYPE=Release',
         '-DCMAKE_UNITY_BUILD=ON', '-DBUILD_SHARED_LIBS=OFF', f'-DCMAKE_CXX_FLAGS={" ".join(flags)}',
         '-DSYNCOPATE_BUILD_C=ON'] +
        [f'-DSYNCOPATE_BUILD_{part}=OFF' for part in ('CLI', 'FABRIC', 'PEERS', 'TESTS', 'TRAINING')],
        ['cmake', '--build', build, '--target', 'syncopate_c', *_jobs()])
    for command in commands:
        if subprocess.run(command, env=_outside()).returncode != 0:
            raise SystemExit('syncopate: the library could not be built; what was said is above. It '
                             'takes CMake 3.22 and a compiler that knows C++20, as GCC 12 does.')
    library = Path(build, 'lib', LIBRARY)
    if shutil.which('strip'):
        subprocess.run(['strip', '--strip-unneeded', library], check=True)
    return library


class _Wheel:
    """A wheel that is being written: a ZIP file with a list of what is in it."""

    def __init__(self, folder):
        self.name = f'{NAME}-{_version()}-{_tag()}.whl'
        self._zip = zipfile.ZipFile(Path(folder, self.name), 'w', zipfile.ZIP_DEFLATED)
        self._record = []

    def add(self, path, content, mode=0o644):
        content = content.encode() if isinstance(content, str) else content
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
        self._record.append(f'{path},sha256={digest},{len(content)}')
        self._write(path, content, mode)

    def _write(self, path, content, mode):
        entry = zipfile.ZipInfo(path, DATE)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, content)

    def close(self):
        for name, content in _information().items():
            self.add(f'{_info()}/{name}', content)
        record = f'{_info()}/RECORD'
        self._write(record, '\n'.join([*self._record, f'{record},,', '']), 0o644)
        self._zip.close()
        return self.name


# What pip calls.
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory, _info())
    folder.mkdir()
    for name, content in _information().items():
        (folder / name).write_text(content)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as build:
        library = _compile(build).read_bytes()
    wheel = _Wheel(wheel_directory)
    package = ROOT / 'python'
    for path in sorted(package.rglob('*.py')):
        wheel.add(path.relative_to(package).as_posix(), path.read_bytes())
    wheel.add(f'{NAME}/{LIBRARY}', library, 0o755)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Python reads the package from this tree, and the library is put there, where git ignores it."""
    with tempfile.TemporaryDirectory() as build:
        shutil.copy(_compile(build), ROOT / 'python' / NAME / LIBRARY)
    wheel = _Wheel(wheel_directory)
    wheel.add(f'_{NAME}_editable.pth', f'{ROOT / "python"}\n')
    return wheel.close()


def _keep(entry):
    """Leaves out what was made, and whose it was."""
    if re.search(r'__pycache__|\.so$', entry.name):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ''
    return entry


def build_sdist(sdist_directory, config_settings=None):
    folder = f'{NAME}-{_version()}'
    with tarfile.open(Path(sdist_directory, f'{folder}.tar.gz'), 'w:gz') as archive:
        for name in SOURCES:
            archive.add(ROOT / name, f'{folder}/{name}', filter=_keep)
        content = _metadata().encode()
        entry = tarfile.TarInfo(f'{folder}/PKG-INFO')
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return f'{folder}.tar.gz'
