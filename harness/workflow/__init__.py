"""The workflow: rules for Snakemake (*.smk), and functions that Snakemake
itself does not offer.

  lock      one workflow at a time in a working directory
  job       a job's process, which ends with its workflow
  progress  the lines printed while the workflow runs
  stale     records of cells that the config no longer has
"""
