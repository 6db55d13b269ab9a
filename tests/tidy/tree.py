"""The tree that is checked: its sources, its documents, and what was found."""
import re
from pathlib import Path

SOURCES = ('include', 'src', 'tests', 'bench', 'examples')


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.findings = []

    def complain(self, path, line, check, text):
        self.findings.append(f'{path.relative_to(self.root)}:{line}: {check}: {text}')

    def sources(self, *folders):
        """Each C++ file of the folders, with its lines."""
        for folder in folders or SOURCES:
            for path in sorted((self.root / folder).rglob('*')):
                if path.suffix in ('.h', '.cpp'):
                    yield path, path.read_text().splitlines()

    def documents(self):
        yield from sorted(self.root.glob('*.md'))
        for folder in ('docs', 'src', 'tests', 'examples', 'bench'):
            yield from sorted((self.root / folder).rglob('*.md'))

    def read(self, name):
        path = self.root / name
        return path.read_text() if path.exists() else ''


def comment_of(line):
    """Indent, marker and text of a line that is a comment and nothing else."""
    found = re.match(r'^(\s*)(//[/<]?<?)(?: (.*))?$', line)
    return (found[1], found[2], found[3] or '') if found else None


def without_comments(text):
    """The same text with comments, strings and characters blanked out; lines stay where they are."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, text, flags=re.DOTALL)


def blank(found):
    return re.sub(r'[^\n]', ' ', found[0])
