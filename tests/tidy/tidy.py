#!/usr/bin/env python3
"""Checks how the tree is kept: what no compiler sees, and what reviews should not have to.

Usage: tests/tidy/tidy.py [ROOT]      prints a line for each finding; exits with 1 if there is one

layers      a folder of src/ includes only those that src/README.md lets it use, and the public headers
sizes       source files are short, and functions too
openings    a header opens with what it is
comments    no line of a comment is left over from wrapping
words       no word that docs/glossary.md has banned
documents   lines of prose are short enough to read and to compare, and files that they name are there
targets     every source file is compiled by its own folder
table       every folder of src/ has its row in src/README.md, and every row a folder
"""
import re
import sys
from pathlib import Path

LONGEST_FILE = 500
LONGEST_DOCUMENT_LINE = 122
COLUMNS = 100
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else '.').resolve()
findings = []


def complain(path, line, check, text):
    findings.append(f'{path.relative_to(ROOT)}:{line}: {check}: {text}')


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob('*')):
            if path.suffix in ('.h', '.cpp'):
                yield path, path.read_text().splitlines()


def documents():
    yield from sorted(ROOT.glob('*.md'))
    for folder in ('docs', 'src', 'tests'):
        yield from sorted((ROOT / folder).rglob('*.md'))


def folder_table():
    """The rows of src/README.md: folder -> folders it may use."""
    table = {}
    for line in (ROOT / 'src' / 'README.md').read_text().splitlines():
        row = re.match(r'\| `(\w+)/` \|.*\| ([^|]*) \|$', line)
        if row:
            table[row[1]] = set(re.findall(r'`(\w+)`', row[2]))
    return table


def check_layers(table):
    for path, lines in sources('src'):
        own = path.relative_to(ROOT / 'src').parts[0]
        if own not in table:
            continue
        for number, line in enumerate(lines, 1):
            found = re.match(r'#include "(\w+)/', line)
            if not found or found[1] in ('syncopate', own):
                continue
            if found[1] in table and found[1] not in table[own]:
                complain(path, number, 'layers', f'{own}/ may not use {found[1]}/ (src/README.md)')


def check_table(table):
    folders = {path.name for path in (ROOT / 'src').iterdir() if path.is_dir()}
    for folder in sorted(folders - set(table)):
        complain(ROOT / 'src' / 'README.md', 1, 'table', f'{folder}/ has no row')
    for folder in sorted(set(table) - folders):
        complain(ROOT / 'src' / 'README.md', 1, 'table', f'there is no folder {folder}/')


def check_targets():
    for path, _ in sources('src', 'bench/suite'):
        if path.suffix != '.cpp':
            continue
        folder = path.parent
        while not (folder / 'CMakeLists.txt').exists():
            folder = folder.parent
        if folder == ROOT / 'src':
            complain(path, 1, 'targets', 'its folder has no CMakeLists.txt')
        elif not re.search(rf'(?<![\w./]){re.escape(str(path.relative_to(folder)))}\b', (folder / 'CMakeLists.txt').read_text()):
            complain(path, 1, 'targets', f'{folder.relative_to(ROOT)}/CMakeLists.txt does not list it')


def check_sizes():
    for path, lines in sources('src', 'include', 'tests', 'bench', 'examples'):
        if len(lines) > LONGEST_FILE:
            complain(path, len(lines), 'sizes', f'{len(lines)} lines; does it have one subject? ({LONGEST_FILE} at most)')


def check_openings():
    for path, lines in sources('src', 'include', 'bench/suite'):
        if path.suffix == '.h' and not (lines and re.match(r'// \S', lines[0])):
            complain(path, 1, 'openings', 'a header opens with what it is')


def check_comments():
    """A line of a comment that ends early although the next one goes on with the same sentence."""
    for path, lines in sources('src', 'include', 'bench/suite'):
        for number in range(len(lines) - 1):
            line, following = lines[number], lines[number + 1]
            here = re.match(r'^(\s*)(///?)( \S.*)$', line)
            there = re.match(r'^(\s*)(///?) ([a-z]\S*)', following)
            if not here or not there or here[1] != there[1] or here[2] != there[2]:
                continue
            if re.match(r'^ [-*\d]|^  ', here[3]) or here[3].rstrip()[-1] in '.:;!?)|':
                continue
            if len(line) + 1 + len(there[3]) <= COLUMNS - 12 and len(here[3].split()) <= 3:
                complain(path, number + 1, 'comments', 'a line that is left over from wrapping')


def check_words():
    banned = {}
    for line in (ROOT / 'docs' / 'glossary.md').read_text().splitlines():
        row = re.match(r'\| ~~(.+?)~~ \| (.+?) \|', line)
        if row:
            banned[row[1]] = row[2]
    if not banned:
        return
    pattern = re.compile(r'\b(' + '|'.join(map(re.escape, banned)) + r')\b')
    for path, lines in sources('src', 'include'):
        for number, line in enumerate(lines, 1):
            for word in pattern.findall(line):
                complain(path, number, 'words', f'"{word}" is called {banned[word]} (docs/glossary.md)')


def check_documents():
    for path in documents():
        code = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith('```'):
                code = not code
            for name in re.findall(r'`((?:src|tests|bench|docs|include|tools)/[\w./-]+)`', line):
                if 'NAME' not in name and not (ROOT / name).exists() and not (ROOT / 'include' / name).exists():
                    complain(path, number, 'documents', f'there is no {name}')
            prose = not code and not line.startswith('|') and '](' not in line
            if prose and len(line) > LONGEST_DOCUMENT_LINE:
                complain(path, number, 'documents', f'{len(line)} columns; {LONGEST_DOCUMENT_LINE} at most')


table = folder_table()
check_table(table)
check_layers(table)
check_targets()
check_sizes()
check_openings()
check_comments()
check_words()
check_documents()
print('\n'.join(findings) if findings else 'tidy')
sys.exit(1 if findings else 0)
