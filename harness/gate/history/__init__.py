"""The history of a gate's verdicts. It shows changes that no single verdict can show.

row.py             a verdict as rows, one per cell: the columns of the Parquet files
store.py           a folder of verdicts, one file each
change_points.py   changes of level in a series
trend.py           series of a cell on a host, each with its changes and its trend
text.py            the series as a table
"""
