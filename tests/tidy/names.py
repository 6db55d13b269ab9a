"""Words and names: what the glossary has banned, and files and headings that texts name."""
import re

from tree import comment_of

PATH = r'(?:src|tests|bench|docs|include|tools|examples|cmake)/[\w./-]*\w'
TEMPLATE = re.compile(r'NAME|KIND|RUN|YYYY')


def banned_words(tree):
    """Rows such as | ~~Liaison~~ | `AgentHandle` |, or | ~~peek~~ (`src/board`) | … | for some folders alone."""
    for line in tree.read('docs/glossary.md').splitlines():
        row = re.match(r'\| ~~(\w+)~~ ?(?:\(([^)]*)\))? \| (.+?) \|', line)
        if row:
            yield row[1], tuple(re.findall(r'`([^`]+)`', row[2] or '')), row[3]


def check_words(tree):
    banned = list(banned_words(tree))
    if not banned:
        tree.complain(tree.root / 'docs' / 'glossary.md', 1, 'words', 'bans no word: is its table still there?')
        return
    files = [(path, path.read_text().splitlines()) for path in tree.documents()]
    for path, lines in [*files, *tree.sources()]:
        name = str(path.relative_to(tree.root))
        rows = {word: instead for word, scope, instead in banned
                if not scope or name.startswith(tuple(folder + '/' for folder in scope))}
        pattern = re.compile(r'\b(' + '|'.join(map(re.escape, rows or ['(?!)'])) + r')\b')
        for number, line in enumerate(lines, 1):
            if name == 'docs/glossary.md' and '~~' in line:
                continue
            for word in pattern.findall(line):
                tree.complain(path, number, 'words', f'"{word}" is called {rows[word]} (docs/glossary.md)')


def check_files(tree):
    """Files that documents and comments name are there."""
    known = {path.name for folder in ('include', 'src', 'tests', 'bench', 'examples', 'docs', 'tools', 'cmake')
             for path in (tree.root / folder).rglob('*')}
    for path in tree.documents():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(rf'`({PATH})`', line):
                check_file(tree, path, number, name)
    for path, lines in tree.sources():
        for number, line in enumerate(lines, 1):
            comment = re.search(r'(?<![:"\w])//[/<]*(.*)$', line)
            if not comment or '#include' in line:
                continue
            for name in re.findall(rf'(?<![\w/.<-])({PATH}\.(?:h|cpp|md|py|sh|txt|supp))\b', comment[1]):
                check_file(tree, path, number, name)
            for name in re.findall(r'(?<![\w/.<>-])(\w+\.(?:h|md))\b(?!>)', comment[1]):
                if name not in known:
                    tree.complain(path, number, 'files', f'there is no {name}')


def check_file(tree, path, number, name):
    if TEMPLATE.search(name) or (tree.root / name).exists() or (tree.root / 'include' / name).exists():
        return
    tree.complain(path, number, 'files', f'there is no {name}')


def anchors(text):
    """The names of a document's headings, as links have them."""
    found, code = set(), False
    for line in text.splitlines():
        code = code != line.startswith('```')
        heading = re.match(r'#+ (.*)$', line)
        if heading and not code:
            plain = re.sub(r'[^\w\- ]', '', re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading[1].lower()))
            found.add(plain.strip().replace(' ', '-'))
    return found


def check_links(tree):
    """Links within the tree lead to a file, and to a heading of it."""
    for path in tree.documents():
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            for target in re.findall(r'\]\(([^)\s]+)\)', line):
                if re.match(r'\w+:', target):
                    continue
                name, _, anchor = target.partition('#')
                file = (path.parent / name).resolve() if name else path
                if not file.exists():
                    tree.complain(path, number, 'links', f'there is no {target}')
                elif anchor and file.suffix == '.md' and anchor not in anchors(file.read_text()):
                    tree.complain(path, number, 'links', f'there is no heading for {target}')
