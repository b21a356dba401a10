"""Laws that choose the number of threads, one a file."""
