"""docs/api.md: it lists what the public headers have, and its examples are parts of programs that are compiled."""
import re

from structure import kind_of
from tree import without_comments

PAGE = 'docs/api.md'
# Of no use to a program: what handles and iterators are made of.
UNLISTED = {'Iterator', 'shared_state', 'begin', 'end', 'friend'}


def public_names(text):
    """What a header offers: {'World': {'rank', …}, '': {'all', 'make_strategy', …}}, '' being the namespace."""
    code = re.sub(r'^[ \t]*#.*', '', without_comments(text), flags=re.MULTILINE)
    names, stack, start, depth = {}, [], 0, 0
    for at, character in enumerate(code):
        if character in '()':
            depth += 1 if character == '(' else -1
        if character not in '{};' or depth:
            continue
        head = re.sub(r'\s+', ' ', code[start:at]).strip()
        hidden = any(kind in ('detail', 'body', 'private') for kind, _ in stack)
        owner = stack[-1][1] if stack else ''
        if not hidden and character != '}':
            head = note_access(head, stack)
            hidden = bool(stack) and stack[-1][0] == 'private'
            if not hidden:
                note(names, owner, head, character)
        elif stack and stack[-1][0] == 'private' and character != '}':
            note_access(head, stack)
            if stack[-1][0] == 'public':
                note(names, owner, re.sub(r'.*\bpublic: ?', '', head), character)
        if character == '{':
            stack.append(opened(code[start:at], head, owner))
        elif character == '}' and stack:
            kind, _ = stack.pop()
            if kind == 'body' and head.startswith('='):
                continue
        start = at + 1
    return names


def note_access(head, stack):
    """Follows public:, protected: and private: of the class at hand; returns what stands after them."""
    found = re.findall(r'\b(public|protected|private) ?:(?!:)', head)
    if found and stack:
        stack[-1] = ('public' if found[-1] == 'public' else 'private', stack[-1][1])
    return re.sub(r'^.*\b(?:public|protected|private) ?:(?!:) ?', '', head)


def opened(head, text, owner):
    """What a brace opens: the details, a class with its first access, or a body that is of no interest."""
    if re.search(r'\bnamespace (?:\w+::)*detail\b', text):
        return 'detail', ''
    if 'namespace' in text:
        return 'public', ''
    found = re.search(r'\b(class|struct|enum class|enum)\b (?:\[\[\w+\]\] )?(\w+)[^()]*$', text)
    if found and kind_of(head) == 'scope':
        name = f'{owner}::{found[2]}' if owner else found[2]
        return ('private' if found[1] == 'class' else 'body' if 'enum' in found[1] else 'public'), name
    return 'body', owner


def note(names, owner, head, character):
    """Adds the name that a declaration makes, unless it is an operator, a constructor or forward only."""
    if not head or re.match(r'(?:namespace|friend|static_assert)\b|template <>', head):
        return
    head = re.sub(r'^template <[^<>]*> ?', '', head)
    scope = re.match(r'(?:class|struct|enum class|enum) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :.*)?$', head)
    if scope:
        if character == '{' and scope[1] not in UNLISTED:
            names.setdefault(scope[1] if not owner else f'{owner}::{scope[1]}', set())
        return
    if 'operator' in head:
        return
    found = (re.match(r'using (\w+) =', head) or re.match(r'using [\w:]+::(\w+)$', head) or re.match(r'[^(=]*?(~?\w+) ?\(', head)
             or re.match(r'[^=]*?\b([A-Za-z]\w*)(?: ?=.*)?$', head))
    if found and found[1] not in UNLISTED and found[1].strip('~') != owner.split('::')[-1]:
        names.setdefault(owner, set()).add(found[1])


def listed_names(page):
    """What the page lists: rows `name` of tables, below headings such as ### `World` or ### Functions."""
    names, owner, code = {}, '', False
    for number, line in enumerate(page.splitlines(), 1):
        code = code != line.startswith('```')
        heading = re.match(r'#+ (?:`([\w:]+)`)?', line)
        if heading and not code:
            owner = heading[1] or ''
            if owner:
                names.setdefault(owner, {})
        row = re.match(r'\| ((?:`[^`]+`(?:, )?)+) \|', line)
        if row and not code:
            for name in re.findall(r'`~?([\w:]+)', row[1]):
                names.setdefault(owner, {})[name] = number
    return names


def check_api_page(tree):
    page = tree.root / PAGE
    offered = {}
    for _, lines in tree.sources('include/syncopate'):
        for owner, names in public_names('\n'.join(lines)).items():
            offered.setdefault(owner, set()).update(names)
    listed = listed_names(tree.read(PAGE))
    free = {**listed.get('', {}), **{owner: 1 for owner in listed if owner}}
    for owner, names in sorted(offered.items()):
        if owner and owner not in free:
            tree.complain(page, 1, 'api', f'does not list {owner}')
        rows = free if not owner else listed.get(owner)
        for name in sorted(names) if rows is not None else ():
            if name not in rows:
                tree.complain(page, 1, 'api', f'does not list {owner + "::" if owner else ""}{name}')
    for owner, names in sorted(listed.items()):
        if owner and owner not in offered:
            tree.complain(page, 1, 'api', f'lists {owner}, which no public header has')
            continue
        for name, number in sorted(names.items()):
            if name not in offered.get(owner, set()) and not (not owner and name in offered):
                tree.complain(page, number, 'api', f'lists {name}, which no public header has')
    check_examples(tree, page)


def check_examples(tree, page):
    """A block of code below <!-- examples/… --> is a part of that file, but for its indentation."""
    text = tree.read(PAGE)
    marked = re.findall(r'<!-- (examples/\S+) -->\n```cpp\n(.*?)```', text, flags=re.DOTALL)
    if text.count('```cpp') != len(marked):
        tree.complain(page, 1, 'api', 'has code that names no file of examples/ before it')
    for name, code in marked:
        program = [line.strip() for line in tree.read(name).splitlines()]
        lines = [line.strip() for line in code.splitlines()]
        if not any(program[at:at + len(lines)] == lines for at in range(len(program))):
            tree.complain(page, 1, 'api', f'shows code that {name} does not have')
