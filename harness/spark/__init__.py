"""Spark jobs: the records of runs into tables. One file a table; each is a pure transform from frames to frames.

session   the Spark session, from `spark.*` settings alone        jvm      which Java runs it
schemas   the shape of a record and of every table                interval Student-t intervals as columns
records   lines of JSON -> runs                                   quarantine  what is not a usable record, and why
selection which runs count in a mean     throughput, samples, timeline, latency, speedup  the tables
aggregate read once, write every table                            storage  where they come from and go to
ahead     one Spark for the tables of several experiments         together  their tables in one go, and then divided
failures  a Spark failure in one line

Only the DataFrame API is used (no RDD, no SparkContext, no UDF), so a job runs on `local[*]`, a standalone cluster, YARN,
Kubernetes or Spark Connect by the setting `spark.master` alone.
"""
