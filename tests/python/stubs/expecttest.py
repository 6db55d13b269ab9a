"""What torch.testing wants of the package expecttest, which neither Debian nor many others have."""
import unittest

ACCEPT = False


class TestCase(unittest.TestCase):
    longMessage = True

    def assertExpectedInline(self, actual, expect, skip=0):
        self.assertEqual(str(actual), expect)
