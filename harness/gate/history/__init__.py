"""The history of a gate's verdicts, and what it says that no single verdict can.

row.py             a verdict as rows, one a cell: the columns of the Parquet files
store.py           a folder of them: a file a verdict
change_points.py   where a series changed its level
trend.py           series of a cell on a host, each with its changes and its trend
text.py            the same as a table
"""
