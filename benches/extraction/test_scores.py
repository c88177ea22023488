"""`python -m unittest` here tests the scorer on what is known; it converts no file."""

import unittest

import pandoc
from scores import pipe_tables, plain, relations, similarity, tables_f1

NATIVE = r"""
[ Para [ Str "A" , Space , Str "wordi\233" , Code ( "" , [] , [] ) "x \"y\"" ]
, OrderedList ( 2 , LowerAlpha , OneParen ) [ [ Plain [ Str "One" ] ] , [ Plain [ Str "Two" ] ] ]
, Table ( "" , [] , [] ) (Caption Nothing []) [ ( AlignDefault , ColWidthDefault ) ]
    (TableHead ( "" , [] , [] ) [ Row ( "" , [] , [] )
      [ Cell ( "" , [] , [] ) AlignDefault (RowSpan 1) (ColSpan 2) [ Plain [ Str "Head" ] ] ] ])
    [ TableBody ( "" , [] , [] ) (RowHeadColumns 0) [] [ Row ( "" , [] , [] )
      [ Cell ( "" , [] , [] ) AlignDefault (RowSpan 1) (ColSpan 1) [ Plain [ Str "1" ] ]
      , Cell ( "" , [] , [] ) AlignDefault (RowSpan 1) (ColSpan 1) [ Plain [ Str "2" ] ] ] ] ]
    (TableFoot ( "" , [] , [] ) []) ]
"""


class Scores(unittest.TestCase):
    def test_markup_is_no_difference(self):
        marked = "# A *title*\n\n- ☒ one `two` <br> [three](http://a/b)\n\n| a | b |\n| --- | :-: |\n| 1\\|2 | $x^2$ |"
        self.assertEqual(plain(marked), "A title [x] one two three a b 1 2 x^2")
        self.assertEqual(plain("costs $5 and $6, a < b & c"), "costs $5 and $6, a < b & c")
        self.assertEqual(similarity("**same** words", "same  words"), 1.0)
        self.assertEqual(similarity("", "four"), 0.0)
        self.assertAlmostEqual(similarity("abcd", "abxd"), 0.75)

    def test_cells_count_by_their_neighbours(self):
        table = [["a", "b"], ["", ""], ["1", "2"]]
        pairs = {("right", "a", "b"), ("right", "1", "2"), ("below", "a", "1"), ("below", "b", "2")}
        self.assertEqual(set(relations(table)), pairs)
        self.assertEqual(tables_f1([[["a", "b"], ["1", "2"]]], [table], False), 1.0)
        self.assertEqual(tables_f1([], [table], False), 0.0)
        # Cells in wrong columns keep one neighbour of two.
        self.assertEqual(tables_f1([[["a", "b"], ["2", "1"]]], [table], False), 0.25)
        # A second table costs precision, except where only a part is known.
        others = [[["x", "y"], ["z", "w"]], table]
        self.assertAlmostEqual(tables_f1(others, [table], False), 2 * 4 / 12)
        self.assertEqual(tables_f1(others, [table], True), 1.0)

    def test_pipes_make_tables(self):
        text = "a\n\n| x | y\\|z |\n| --- | --- |\n| 1 | |\n\nb\n| only |\n"
        self.assertEqual(pipe_tables(text), [[["x", "y|z"], ["1", ""]], [["only"]]])

    def test_native_values_are_read(self):
        words = " ".join(pandoc.text(NATIVE).split())
        self.assertEqual(words, 'A wordi\u00e9x "y" b) One c) Two Head 1 2')
        self.assertEqual(pandoc.tables(NATIVE), [[["Head", ""], ["1", "2"]]])


if __name__ == "__main__":
    unittest.main()
