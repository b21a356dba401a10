"""Files: those that users name, with errors in one line; and those that are written as a whole or
not at all.

  given         a file that a user names, for reading
  checked_yaml  a YAML file checked against a schema
  whole         a file that is written as a whole or not at all
  lock          a lock on a file that its process holds
  closure       the files that a module of this project depends on
"""
