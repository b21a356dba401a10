"""Graphs in files.

file      a file of any kind to a graph, and a graph to text
reader    the values of a graph file to a graph
text      YAML and JSON to plain values
function  the function in a .py file that makes a graph
"""
