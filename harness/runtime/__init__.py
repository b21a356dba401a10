"""The engine on real threads: Cython over small C++ headers. `README.md` beside this file is its
map.
"""
