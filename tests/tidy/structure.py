"""Folders, files and functions: who may include whom, and how long things are."""
import re

from tree import blank, without_comments

LONGEST_FILE = 500
LONGEST_FUNCTION = 50
# What stands outside of src/ and may be used by one folder of it.
NEIGHBORS = {'bench': 'cli'}


def folder_table(tree):
    """The rows of src/README.md: folder -> folders that it may use."""
    table = {}
    for line in tree.read('src/README.md').splitlines():
        row = re.match(r'\| `(\w+)/` \|.*\| ([^|]*) \|$', line)
        if row:
            table[row[1]] = re.findall(r'`(\w+)`', row[2])
    return table


def check_table(tree):
    """Every folder has its row, every row a folder, and no folder uses itself in the end."""
    table = folder_table(tree)
    readme = tree.root / 'src' / 'README.md'
    folders = {path.name for path in (tree.root / 'src').iterdir() if path.is_dir()}
    for folder in sorted(folders - set(table)):
        tree.complain(readme, 1, 'table', f'{folder}/ has no row')
    for folder in sorted(set(table) - folders):
        tree.complain(readme, 1, 'table', f'there is no folder {folder}/')
    for folder, uses in table.items():
        for used in uses:
            if used not in table:
                tree.complain(readme, 1, 'table', f'{folder}/ uses {used}/, which has no row')
    for folder in table:
        if folder in reachable(table, folder):
            tree.complain(readme, 1, 'table', f'{folder}/ uses itself in the end: a cycle')


def reachable(table, start):
    seen, todo = set(), list(table[start])
    while todo:
        folder = todo.pop()
        if folder not in seen:
            seen.add(folder)
            todo += table.get(folder, [])
    return seen


def check_layers(tree):
    table = folder_table(tree)
    for path, lines in tree.sources('src'):
        own = path.relative_to(tree.root / 'src').parts[0]
        for number, line in enumerate(lines, 1):
            found = re.match(r'\s*#include "([^"]+)"', line)
            if not found:
                continue
            if found[1] == 'syncopate.h':  # The public header in C.
                continue
            used = found[1].split('/')[0] if '/' in found[1] else None
            if used is None:
                tree.complain(path, number, 'layers', f'"{found[1]}" does not say of which folder it is')
            elif used in ('syncopate', own) or NEIGHBORS.get(used) == own:
                continue
            elif used not in table:
                tree.complain(path, number, 'layers', f'{used}/ has no row in src/README.md')
            elif used not in table.get(own, []):
                tree.complain(path, number, 'layers', f'{own}/ may not use {used}/ (src/README.md)')
    for path, lines in tree.sources('include'):
        for number, line in enumerate(lines, 1):
            found = re.match(r'\s*#include "(?!syncopate/)', line)
            if found:
                tree.complain(path, number, 'layers', 'a public header includes public headers alone')


def check_sizes(tree):
    for path, lines in tree.sources():
        if len(lines) > LONGEST_FILE:
            tree.complain(path, len(lines), 'sizes',
                          f'{len(lines)} lines; does it have one subject? ({LONGEST_FILE} at most)')
        for first, last, function in functions('\n'.join(lines)):
            length = last - first + 1
            if length > LONGEST_FUNCTION:
                tree.complain(path, first, 'sizes', f'{function} has {length} lines ({LONGEST_FUNCTION} at most)')


def functions(text):
    """First line, last line and name of each function. A lambda belongs to the function around it."""
    code = re.sub(r'^[ \t]*#.*(?:\\\n.*)*', blank, without_comments(text), flags=re.MULTILINE)
    stack, start = [], 0
    for at, character in enumerate(code):
        inside = 'function' in (kind for kind, _, _ in stack)
        if character == '{':
            head = code[start:at]
            kind = 'other' if inside or stack and stack[-1][0] == 'initializer' else kind_of(head)
            stack.append((kind, start + len(head) - len(head.lstrip()), head))
        elif character == '}' and stack:
            kind, begin, head = stack.pop()
            if kind == 'function':
                name = re.search(r'([~\w:]+|operator\S+)\s*\(', head)
                yield (code.count('\n', 0, begin) + 1, code.count('\n', 0, at) + 1,
                       name[1] if name else 'a function')
            if kind == 'initializer':
                continue
        if character in '{};' and not (stack and stack[-1][0] == 'initializer') and not (
                character == '}' and kind == 'initializer'):
            start = at + 1


def kind_of(head):
    """Of a brace outside of functions, by what stands before it."""
    text = head.strip()
    if re.search(r'\b(namespace|extern)\b', text) or re.match(
            r'(template\s*<.*>\s*)?(class|struct|union|enum)\b[^()]*$', text, flags=re.DOTALL):
        return 'scope'
    if head[-1:].strip() or text.endswith('=') or '(' not in text:
        return 'initializer'  # member_{1}, or a value
    return 'function'


def check_openings(tree):
    for path, lines in tree.sources('src', 'include', 'tests', 'bench'):
        if path.suffix == '.h' and not (lines and re.match(r'(//|/\*) \S', lines[0])):
            tree.complain(path, 1, 'openings', 'a header opens with what it is')


def check_targets(tree):
    """Every source file is compiled by its own folder."""
    for path, _ in tree.sources('src', 'bench/suite'):
        if path.suffix != '.cpp':
            continue
        folder = path.parent
        while not (folder / 'CMakeLists.txt').exists() and folder != tree.root:
            folder = folder.parent
        if folder in (tree.root / 'src', tree.root):
            tree.complain(path, 1, 'targets', 'its folder has no CMakeLists.txt')
            continue
        name = re.escape(str(path.relative_to(folder)))
        if not re.search(rf'(?<![\w./]){name}\b', (folder / 'CMakeLists.txt').read_text()):
            tree.complain(path, 1, 'targets', f'{folder.relative_to(tree.root)}/CMakeLists.txt does not list it')
