"""Tables -> figures: the table of all figures (`figures`), the functions that draw them, and one
style (`style`).

These functions read no files: `draw` does. `graph_drawing` draws graphs, not tables.
"""
