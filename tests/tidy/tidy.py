#!/usr/bin/env python3
"""Checks how the tree is kept: what no compiler sees, and what reviews should not have to.

Usage: tests/tidy/tidy.py [ROOT]      prints a line for each finding; exits with 1 if there is one

structure.py  table      every folder of src/ has its row in src/README.md and every row a folder, without a cycle
              layers     a folder includes only those that its row lets it use, and the public headers
              sizes      files have 500 lines at most, functions 50
              openings   a header opens with what it is
              targets    every source file is compiled by its own folder
classes.py    classes    a class of src/ has 15 public functions and 15 fields at most
              places     a sum is scaled, a rank waits and grace is counted in one place
prose.py      comments   no line of a comment ends early or is torn from its item of a list
              sentences  documents and public headers have 20 words a sentence on average, and 60 at most
              subjects   nobody, somebody, whoever and everybody are no subjects
              spelling   one dialect: American
              documents  lines of prose are short enough to read and to compare
names.py      words      no word that docs/glossary.md has banned
              files      files that documents and comments name are there
              links      links within the tree lead to a file and a heading
api_page.py   api        docs/api.md lists what the public headers have and nothing else; its examples are compiled

tidy_test.py shows each of them a small tree that it must complain about.
"""
import sys

sys.dont_write_bytecode = True

from api_page import check_api_page
from classes import check_classes, check_places
from names import check_files, check_links, check_words
from prose import check_comments, check_lines, check_sentences, check_spelling, check_subjects
from structure import check_layers, check_openings, check_sizes, check_table, check_targets
from tree import Tree

CHECKS = (check_table, check_layers, check_sizes, check_openings, check_targets,
          check_classes, check_places,
          check_comments, check_sentences, check_subjects,
          check_spelling, check_lines, check_words, check_files, check_links, check_api_page)


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else '.')
    for check in CHECKS:
        check(tree)
    print('\n'.join(tree.findings) if tree.findings else 'tidy')
    return 1 if tree.findings else 0


if __name__ == '__main__':
    sys.exit(main())
