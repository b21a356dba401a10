"""Tables -> figures: one module for each figure, one style (`style`). A module holds `TABLES`, the
tables it reads, and `figure(tables)`.

Draw functions draw on the axes they get and read no files: `draw` does. `graph_drawing` draws
graphs, not tables.
"""

FIGURES = (
    "pldi17_fig9",
    "pldi17_fig10",
    "pldi17_fig11",
    "elb_cost",
    "elb_bursty_cost",
    "elb_bursty_rate",
    "saso",
    "saso_placement",
    "elastic_levels",
    "multilevel",
    "crossover",
    "peers",
    "mw19_fig1",
    "mw19_fig6",
    "mw19_fig9",
    "mw19_fig10",
    "mw19_fig11",
    "mw19_fig12",
    "mw19_fig13",
    "mw19_fig14",
    "mw19_fig15",
    "applications",
    "cstream_fig4",
    "cstream_fig6",
    "cstream_fig7",
    "cstream_fig8",
    "cstream_fig9",
    "cstream_fig10",
    "cstream_fig11",
    "cstream_fig12",
    "cstream_fig13",
    "cstream_policies",
)
"""Figures that `python -m harness plot` draws; each is a module of this package."""
