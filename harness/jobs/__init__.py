"""Jobs: runs that go once over their input and deliver what the sinks receive.

results  what sinks receive, in files or on standard output
tapped   a graph whose sinks deliver results as well
job      one job, from its graph to its record
"""
