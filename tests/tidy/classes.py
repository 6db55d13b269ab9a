"""Classes: how many public functions and fields they have. Places: what is done in one alone."""
import re

from structure import kind_of
from tree import blank, without_comments

MOST = 15
# Larger, and right so: what the class is, and why parts of it would be no clearer.
RIGHT_AS_THEY_ARE = {
    ('src/train/config.h', 'Config'): 'a record: a field for each setting of a run, as a user names it',
    ('src/train/result.h', 'Result'): 'a record: a field for each figure of result.json',
}
# Larger for now, with their public functions and fields: the list is to become empty, and no entry may grow.
LARGER_FOR_NOW = {
    ('src/train/run_progress.h', 'RunProgress'): (17, 14),
    ('src/train/trainer.h', 'Trainer'): (2, 29),
}
# What is done in one place: a pattern, where it is looked for, the files that may have it, and what that is.
PLACES = (
    (r'\bcase Scale::|[=!]= Scale::', ('src/partial', 'src/board', 'src/kernel', 'src/group'),
     ('src/partial/scaling.h',), 'a sum is scaled'),
    (r'\.(sleep|park)\(|\bFUTEX_WAIT|\bsched_yield\(', ('src/board', 'src/agent', 'src/partial', 'src/group', 'src/world'),
     ('src/board/event.h', 'src/board/event.cpp', 'src/board/platform.cpp', 'src/agent/thread.cpp'),
     'a rank waits, or an agent'),
    (r'\bllround\(', ('src/round', 'src/partial', 'src/group'),
     ('src/round/start.h', 'src/round/group_agreement.cpp', 'src/group/starter.cpp'), 'grace is counted'),
)


def check_classes(tree):
    """Overloads count once. Constructors, operators, types and constants do not count."""
    for path, lines in tree.sources('src'):
        file = str(path.relative_to(tree.root))
        for line, name, functions, fields in classes('\n'.join(lines)):
            if (file, name) in RIGHT_AS_THEY_ARE:
                continue
            allowed = LARGER_FOR_NOW.get((file, name), (0, 0))
            for what, found, most in (('public functions', functions, max(allowed[0], MOST)),
                                      ('fields', fields, max(allowed[1], MOST))):
                if len(found) > most:
                    tree.complain(path, line, 'classes', f'{name} has {len(found)} {what} ({most} at most)')


def check_places(tree):
    for pattern, folders, files, what in PLACES:
        for path, lines in tree.sources(*folders):
            if str(path.relative_to(tree.root)) in files:
                continue
            for number, line in enumerate(without_comments('\n'.join(lines)).splitlines(), 1):
                if re.search(pattern, line):
                    tree.complain(path, number, 'places', f'{what} in one place: {files[0]}')


def classes(text):
    """Line, name, public functions and fields of each class that is defined in `text`."""
    code = re.sub(r'^[ \t]*#.*(?:\\\n.*)*', blank, without_comments(text), flags=re.MULTILINE)
    head = r'\b(class|struct)\s+(?:alignas\([^)]*\)\s*|\[\[\w+\]\]\s*)*(\w+)(?:\s+final)?\s*(?::[^;{}()]*)?\{'
    for found in re.finditer(head, code):
        before = code[:found.start()].rstrip()
        if before.endswith('enum') or before.endswith('<') or before.endswith(','):
            continue
        functions, fields = members(body_after(code, found.end()), found[2], found[1] == 'struct')
        yield code.count('\n', 0, found.start()) + 1, found[2], functions, fields


def body_after(code, begin):
    depth = 1
    for at in range(begin, len(code)):
        depth += {'{': 1, '}': -1}.get(code[at], 0)
        if depth == 0:
            return code[begin:at]
    return code[begin:]


def members(body, owner, public):
    """The names of a class's public functions, and of its fields."""
    functions, fields = set(), set()
    for declaration in declarations(body):
        access = re.match(r'(?:(public|protected|private)\s*:(?!:)\s*)+', declaration)
        if access:
            public = access[1] == 'public'
            declaration = declaration[access.end():]
        kind, name = declared(declaration, owner)
        if kind == 'field':
            fields.add(name)
        elif kind == 'function' and public:
            functions.add(name)
    return functions, fields


def declarations(body):
    """The declarations of a class one by one, with nothing in their braces."""
    text, depth, parens, kind = '', 0, 0, ''
    for at, character in enumerate(body):
        if character in '()' and depth == 0:
            parens += 1 if character == '(' else -1
        if character == '{':
            if depth == 0:
                kind = 'initializer' if parens else kind_of(text)
                text += character
            depth += 1
        elif character == '}':
            depth -= 1
            if depth == 0:
                text += character
                if kind == 'function':
                    yield ' '.join(text.split())
                    text = ''
        elif character == ';' and depth == 0 and not parens:
            yield ' '.join(text.split())
            text = ''
        elif depth == 0:
            text += character


def declared(declaration, owner):
    """Whether a declaration makes a function or a field that counts, and its name."""
    text = re.sub(r'^template <.*?> (?=\w)', '', re.sub(r'alignas\([^)]*\)|\[\[\w+\]\]', '', declaration)).strip()
    if not text or re.match(r'(using|typedef|friend|static_assert|enum|static constexpr|constexpr static)\b', text):
        return None, None
    if re.match(r'(class|struct|union)\b', text):
        named = re.search(r'\} ?(\w+)$', text)  # struct { … } field_
        return ('field', named[1]) if named else (None, None)
    if 'operator' in text:
        return None, None
    while re.search(r'<[^<>()]*>', text):
        text = re.sub(r'<[^<>()]*>', '', text)
    function = re.match(r'[^={(]*?(~?\w+) ?\(', text)
    if function:
        return (None, None) if function[1].strip('~') == owner else ('function', function[1])
    field = re.match(r'[^={]*?(\w+)(?:\[[^\]]*\])?(?: ?[={].*| : \d+)?$', text)
    return ('field', field[1]) if field and not text.startswith('static') else (None, None)
