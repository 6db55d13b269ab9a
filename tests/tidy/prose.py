"""English: documents, the comments of public headers, and comments that wrapping has torn."""
import re

from tree import comment_of

LONGEST_LINE = 122
LONGEST_SENTENCE = 60
WORDS_PER_SENTENCE = 20
COLUMNS = 100
SLACK = 8  # Lines that were wrapped by hand may be so much shorter.
VAGUE = re.compile(r'\b(nobody|somebody|whoever|everybody)\b', re.IGNORECASE)
# A word of the language of scenarios (tests/scenarios/README.md), as a token.
TOKEN = re.compile(r'" ?nobody\\?"')
# British spellings, as the beginnings of words.
BRITISH = re.compile(r'\b(\w*(?:optimis|normalis|randomis|initialis|finalis|synchronis|recognis|organis|serialis'
                     r'|neighbour|behaviour|colour|favour|honour|licence|centre|fibre|catalogue|generalis'
                     r'|analys(?:e|ing))\w*)', re.IGNORECASE)
# Names that users write so.
SPELLED_SO = ('synchronise_every', 'LognormalIsALeastLength')


def blocks(text):
    """Paragraphs, items of lists and cells of tables, each with its first line and its kind."""
    code, comment, block, first, kind = False, False, [], 0, 'prose'

    def ended():
        return [(first, kind, ' '.join(block))] if block else []

    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith('```')
        comment = comment or line.startswith('<!--')
        if fence or code or comment or not line.strip() or line.startswith(('#', '![')):
            yield from ended()
            block, code = [], code != fence
            comment = comment and '-->' not in line
            continue
        if line.startswith('|'):
            yield from ended()
            block = []
            yield from ((number, 'cell', cell.strip()) for cell in line.strip().strip('|').split('|'))
            continue
        if re.match(r'\s*([-*]|\d+\.) ', line):
            yield from ended()
            block = []
            line = re.sub(r'\s*([-*]|\d+\.) ', '', line, count=1)
        if not block:
            first, kind = number, 'prose'
        block.append(line.strip())
    yield from ended()


def sentences(text):
    """Each sentence of a block as its words. Code counts as one word."""
    text = re.sub(r'`+[^`]+`+', 'Code', text)
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', text)
    text = re.sub(r'\*\*|[*_"“”]', '', text)
    text = re.sub(r'\b(e\.g|i\.e|cf|vs)\.', r'\1', text)
    for sentence in re.split(r'(?<=[.!?…])\)?\s+(?=[(\[A-Z0-9‘\'])|(?<=:)\s*$', text):
        words = [word for word in sentence.split() if re.search(r'\w', word)]
        if words:
            yield words


def measure(tree, path, pieces, check):
    """Complains about sentences that are too long by themselves or on average."""
    lengths = []
    for number, kind, text in pieces:
        for words in sentences(text):
            if len(words) > LONGEST_SENTENCE:
                tree.complain(path, number, check, f'a sentence of {len(words)} words: {" ".join(words[:6])} …')
            if kind == 'prose' and len(words) > 2:
                lengths.append(len(words))
    mean = sum(lengths) / len(lengths) if lengths else 0
    if mean > WORDS_PER_SENTENCE:
        tree.complain(path, 1, check, f'{mean:.1f} words a sentence ({WORDS_PER_SENTENCE} at most)')
    return mean


def header_blocks(lines):
    """The comments of a header, without examples of code."""
    block, first = [], 0
    for number, line in enumerate([*lines, ''], 1):
        found = comment_of(line)
        trailing = re.search(r'///< (.*)$', line)
        if found and found[2] and not found[2].startswith(' '):
            first = first if block else number
            block.append(found[2])
            continue
        if block:
            yield first, 'prose', ' '.join(block)
        block = [trailing[1]] if trailing else []
        first = number
    if block:
        yield first, 'prose', ' '.join(block)


def check_sentences(tree):
    for path in tree.documents():
        measure(tree, path, blocks(path.read_text()), 'sentences')
    for path, lines in tree.sources('include'):
        measure(tree, path, header_blocks(lines), 'sentences')


def check_subjects(tree):
    files = [(path, re.sub(r'`[^`\n]+`', '', path.read_text()).splitlines()) for path in tree.documents()]
    for path, lines in [*files, *tree.sources()]:
        for number, line in enumerate(lines, 1):
            for word in VAGUE.findall(TOKEN.sub('', line)):
                tree.complain(path, number, 'subjects', f'who is "{word}"? a rank, the agent, the other machine …')


def check_spelling(tree):
    files = [(path, path.read_text().splitlines()) for path in tree.documents()]
    for path, lines in [*files, *tree.sources()]:
        for number, line in enumerate(lines, 1):
            for word in BRITISH.findall(line):
                if word not in SPELLED_SO:
                    tree.complain(path, number, 'spelling', f'"{word}" is British; the identifiers are American')


def check_lines(tree):
    for path in tree.documents():
        code = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = code != line.startswith('```')
            prose = not code and not line.startswith('|') and '](' not in line
            if prose and len(line) > LONGEST_LINE:
                tree.complain(path, number, 'documents', f'{len(line)} columns; {LONGEST_LINE} at most')


def check_comments(tree):
    """Lines of comments that wrapping or editing has torn."""
    for path, lines in tree.sources():
        item = None  # How far the text of the list's item at hand is indented.
        for number in range(len(lines) - 1):
            here, there = comment_of(lines[number]), comment_of(lines[number + 1])
            if not here or not here[2]:
                item = None
                continue
            begins = re.match(r' *([-*]|\d+\.) +(?=\S)', here[2])
            item = len(begins[0]) if begins else item
            if not there or here[:2] != there[:2] or not there[2]:
                continue
            if item is not None and re.match(r' *[a-z(`]', there[2]) and not there[2].startswith(' ' * item):
                tree.complain(path, number + 2, 'comments', 'goes on with an item of a list, and is not indented as it')
                item = None
            elif ends_early(lines[number], here[2], there[2], item):
                tree.complain(path, number + 1, 'comments', 'ends early, in the middle of a sentence')


def ends_early(line, text, following, item):
    """Whether the next line goes on with the sentence, and its first word would have stood on this one."""
    # An invariant names its check and its test on lines of their own.
    if re.match(r' *(check|test|by construction)\b', text) or re.match(r' *(check|test|by construction)\b', following):
        return False
    example = item is None and (text.startswith('  ') or following.startswith('  '))
    if example or re.search(r'[.:;!?…|<>{}=]$', text.rstrip()):
        return False
    first = re.match(r' *([A-Za-z(`]\S*)', following)
    return first is not None and len(line) + 1 + len(first[1]) <= COLUMNS - SLACK
