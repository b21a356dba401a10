"""Standard output and standard error, for commands and the live view.

output            both streams: any text, a full disk, a closed pipe
table             rows as aligned lines
overwritten_line  a line of a terminal that is drawn again and again
countdown         progress and time left of a long command
progress_line     the line that shows a run's progress
"""
