"""The report: all figures with their captions, claims and data, as one page.

svg         figures as parts of a page
page        the page and the files with its data
crate       a run as an archive that describes itself
kept_study  points of figures beside those of the kept study
"""
