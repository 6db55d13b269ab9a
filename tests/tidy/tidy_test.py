#!/usr/bin/env python3
"""Shows each check of the tidy test a good tree, on which it is silent, and bad ones, of which it must complain."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import api_page
import classes
import names
import prose
import structure
from tree import Tree

README = '''# Rooms

| folder | subject | uses |
|---|---|---|
| `base/` | What all need. |  |
| `board/` | Shared memory. | `base` |
'''
GLOSSARY = '| ~~Liaison~~ | `AgentHandle` |\n| ~~peek~~ (`src/board`) | `load_relaxed` |\n'
API = '# The API\n\n### `World`\n\n| name | what |\n|---|---|\n| `rank`, `size` | numbers |\n'
WORLD = '''// The ranks.
namespace syncopate {
namespace detail {
class State;
}
class World {
 public:
  int rank() const { return rank_; }
  int size() const;
 private:
  int hidden() const;
  int rank_ = 0;
};
}  // namespace syncopate
'''
GOOD = {
    'src/README.md': README,
    'src/base/text.h': '// Texts, and how they are read.\n#pragma once\n',
    'src/board/word.h': '// A word.\n#pragma once\n#include "base/text.h"\n#include "syncopate/world.h"\n',
    'include/syncopate/world.h': WORLD,
    'docs/glossary.md': GLOSSARY,
    'docs/api.md': API,
    'README.md': '# A\n\nA rank waits. See [the API](docs/api.md#world) and `src/base/text.h`.\n',
}


class Checks(unittest.TestCase):
    def found(self, check, files=None, gone=()):
        """What a check says of the good tree with some files changed."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD, **(files or {})}.items():
                path = Path(folder) / name
                if name not in gone:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            tree = Tree(folder)
            check(tree)
            return '\n'.join(tree.findings)

    def complains(self, check, says, files=None, gone=()):
        self.assertEqual(self.found(check), '', 'of a good tree')
        self.assertIn(says, self.found(check, files, gone))

    def test_a_folder_without_a_row(self):
        self.complains(structure.check_table, 'fabric/ has no row', {'src/fabric/a.h': '// A.\n'})

    def test_a_row_without_a_folder(self):
        self.complains(structure.check_table, 'there is no folder agent/', {'src/README.md': README + '| `agent/` | A. |  |\n'})

    def test_a_row_that_uses_what_has_none(self):
        self.complains(structure.check_table, 'which has no row', {'src/README.md': README.replace('`base` |', '`bas` |')})

    def test_a_cycle_of_folders(self):
        text = README.replace('What all need. |  |', 'What all need. | `board` |')
        self.complains(structure.check_table, 'a cycle', {'src/README.md': text})

    def test_an_include_of_a_folder_further_down(self):
        self.complains(structure.check_layers, 'base/ may not use board/', {'src/base/a.h': '#include "board/word.h"\n'})

    def test_an_include_of_an_unknown_folder(self):
        self.complains(structure.check_layers, 'has no row', {'src/base/a.h': '#include "tests/word.h"\n'})

    def test_an_include_without_a_folder(self):
        self.complains(structure.check_layers, 'of which folder', {'src/base/a.h': '#include "text.h"\n'})

    def test_a_public_header_that_includes_a_private_one(self):
        self.complains(structure.check_layers, 'public headers alone',
                       {'include/syncopate/a.h': '#include "base/text.h"\n'})

    def test_a_long_file(self):
        self.complains(structure.check_sizes, '501 lines', {'tests/a.cpp': '\n' * 501})

    def test_a_long_function(self):
        body = 'namespace a {\nint Long::f(int x) const {\n' + '  if (x) { x = "}"; }\n' * 50 + '}\n}\n'
        self.complains(structure.check_sizes, 'Long::f has 52 lines', {'src/base/a.cpp': body})

    def test_a_long_constructor_with_braces_before_its_body(self):
        body = 'A::A(int x)\n    : a_{x}, b_{1} {\n' + '  f();\n' * 50 + '}\n'
        self.complains(structure.check_sizes, 'A::A has 53 lines', {'src/base/a.cpp': body})

    def test_a_long_class_is_no_function(self):
        body = '// A.\nclass A {\n public:\n' + '  int f() { return 1; }\n' * 60 + '};\n'
        self.assertEqual(self.found(structure.check_sizes, {'src/base/a.h': body}), '')

    def test_a_class_with_many_functions(self):
        functions = ''.join(f'  int f{i}(int x = {{}}) const {{ return x; }}\n' for i in range(15))
        body = '// A.\nclass A : public B {\n public:\n  A();\n' + functions + '%s private:\n  void g();\n};\n'
        self.complains(classes.check_classes, 'A has 16 public functions', {'src/base/a.h': body % '  void h() const;\n'})
        self.assertEqual(self.found(classes.check_classes, {'src/base/a.h': body % '  void f1();\n'}), '', 'an overload')

    def test_a_class_with_many_fields(self):
        fields = ''.join(f'  std::map<int, std::pair<int, int>> f{i}_{{1}};\n' for i in range(15))
        body = '// A.\nstruct alignas(64) A {\n' + fields + '%s};\n'
        self.complains(classes.check_classes, 'A has 16 fields',
                       {'src/base/a.h': body % '  struct Part {\n    int f = 0;\n  } part_;\n'})
        none = '  static constexpr int kMost = 3;\n  using T = int;\n  enum class E { a, b };\n  void f(int x);\n'
        self.assertEqual(self.found(classes.check_classes, {'src/base/a.h': body % none}), '', 'no fields')

    def test_what_is_scaled_and_waited_for_elsewhere(self):
        self.complains(classes.check_places, 'a sum is scaled', {'src/partial/a.cpp': 'if (s == Scale::ranks) f();\n'})
        self.complains(classes.check_places, 'a rank waits', {'src/partial/a.cpp': 'event.sleep(1);\n'})
        self.complains(classes.check_places, 'grace is counted', {'src/partial/a.cpp': 'return std::llround(x * share);\n'})
        self.assertEqual(self.found(classes.check_places, {'src/partial/scaling.h': 'case Scale::none:\n'}), '')

    def test_a_header_that_does_not_say_what_it_is(self):
        self.complains(structure.check_openings, 'opens with what it is', {'src/base/a.h': '#pragma once\n'})

    def test_a_comment_that_ends_early(self):
        self.complains(prose.check_comments, 'ends early', {'src/base/a.h': '// A line that goes on\n// with the next one.\n'})

    def test_an_item_whose_next_line_was_reflowed(self):
        text = '// Invariants:\n// 1. A slot is not written while a round may still read it, whatever else\n// happens.\n'
        self.complains(prose.check_comments, 'not indented', {'src/base/a.h': text})

    def test_a_comment_that_ends_where_a_sentence_does(self):
        text = '// A sentence.\n// Another one:\n//   code(of an example)\n//   more(code)\n'
        self.assertEqual(self.found(prose.check_comments, {'src/base/a.h': text}), '')

    def test_long_sentences_on_average(self):
        self.complains(prose.check_sentences, '21.0 words a sentence', {'docs/a.md': 'word ' * 20 + 'end.\n'})

    def test_one_very_long_sentence(self):
        text = 'word ' * 60 + 'end.\n\n' + 'It is so.\n\n' * 9
        self.complains(prose.check_sentences, 'a sentence of 61 words', {'docs/a.md': text})

    def test_one_very_long_sentence_in_a_table(self):
        self.complains(prose.check_sentences, 'a sentence of 61 words', {'docs/a.md': f'| {"word " * 61}|\n'})

    def test_long_sentences_of_a_public_header(self):
        self.complains(prose.check_sentences, 'words a sentence', {'include/syncopate/a.h': ('// ' + 'word ' * 11 + '\n') * 2})

    def test_code_is_no_sentence(self):
        self.assertEqual(self.found(prose.check_sentences, {'docs/a.md': '```\n' + 'word ' * 70 + '\n```\n'}), '')

    def test_a_vague_subject(self):
        self.complains(prose.check_subjects, 'Nobody', {'docs/a.md': 'Nobody waits.\n'})
        self.complains(prose.check_subjects, 'whoever', {'include/syncopate/a.h': '// For whoever waits.\n'})

    def test_a_british_word(self):
        self.complains(prose.check_spelling, 'optimiser', {'docs/a.md': 'An optimiser steps.\n'})

    def test_a_long_line_of_a_document(self):
        self.complains(prose.check_lines, '130 columns', {'docs/a.md': 'x' * 130 + '\n'})

    def test_a_banned_word(self):
        for name in ('src/base/a.h', 'include/syncopate/a.h', 'tests/a.cpp', 'docs/a.md'):
            self.complains(names.check_words, 'is called `AgentHandle`', {name: '// Liaison\n'})

    def test_a_word_that_is_banned_in_one_folder(self):
        self.complains(names.check_words, 'load_relaxed', {'src/board/a.h': 'peek();\n', 'src/base/a.h': 'peek();\n'})
        self.assertEqual(self.found(names.check_words, {'src/base/a.h': 'peek();\n'}), '')

    def test_a_glossary_that_bans_nothing(self):
        self.complains(names.check_words, 'bans no word', {'docs/glossary.md': '# Glossary\n'})

    def test_a_file_that_a_document_names_and_is_not_there(self):
        self.complains(names.check_files, 'there is no src/base/gone.h', {'docs/a.md': 'In `src/base/gone.h`.\n'})

    def test_a_file_that_a_comment_names_and_is_not_there(self):
        self.complains(names.check_files, 'there is no gone.h', {'src/base/a.h': '// As in gone.h.\n'})
        self.complains(names.check_files, 'there is no docs/gone.md', {'src/base/a.h': 'int x;  // (docs/gone.md)\n'})

    def test_a_link_to_nowhere(self):
        self.complains(names.check_links, 'there is no gone.md', {'docs/a.md': '[a](gone.md)\n'})

    def test_a_link_to_a_heading_that_is_gone(self):
        self.complains(names.check_links, 'there is no heading', {'docs/a.md': '[a](api.md#gone)\n'})

    def test_a_public_method_that_the_page_lacks(self):
        self.complains(api_page.check_api_page, 'does not list World::size', {'docs/api.md': API.replace(', `size`', '')})

    def test_a_public_class_that_the_page_lacks(self):
        self.complains(api_page.check_api_page, 'does not list Group',
                       {'include/syncopate/a.h': 'namespace syncopate {\nstruct Group {\n  int size = 0;\n};\n}\n'})

    def test_a_public_function_that_the_page_lacks(self):
        self.complains(api_page.check_api_page, 'does not list first',
                       {'include/syncopate/a.h': 'namespace syncopate {\ninline int first() { return 1; }\n}\n'})

    def test_a_name_on_the_page_that_no_header_has(self):
        self.complains(api_page.check_api_page, 'lists hidden', {'docs/api.md': API.replace('`size`', '`size`, `hidden`')})
        self.complains(api_page.check_api_page, 'lists Room', {'docs/api.md': API + '\n### `Room`\n'})

    def test_code_on_the_page_that_no_example_has(self):
        page = API + '\n<!-- examples/a.cpp -->\n```cpp\n  f();\n```\n'
        self.assertEqual(self.found(api_page.check_api_page, {'docs/api.md': page, 'examples/a.cpp': 'f();\n'}), '')
        self.complains(api_page.check_api_page, 'does not have', {'docs/api.md': page, 'examples/a.cpp': 'g();\n'})
        self.complains(api_page.check_api_page, 'names no file', {'docs/api.md': API + '```cpp\nf();\n```\n'})


if __name__ == '__main__':
    unittest.main()
