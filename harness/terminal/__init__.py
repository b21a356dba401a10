"""Standard output and standard error, for commands and the live view.

output         both streams: any text, a full disk, a closed pipe
countdown      progress and time left of a long command
progress_line  the line that shows a run's progress
"""
