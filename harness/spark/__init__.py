"""Spark jobs that turn the records of runs into tables. Each table has a file; each file is a pure
transform from frames to frames.

  session     the Spark session, from `spark.*` settings alone
  jvm         the Java that runs it
  schemas     the shape of a record and of every table
  records     lines of JSON -> runs
  quarantine  unusable lines, and the reasons
  selection   runs that count in a mean
  interval    Student-t intervals as columns
  throughput, samples, timeline, latency, speedup: the tables
  stationary  tables without simulated arms that never settled, for figures and claims
  aggregate   read once, write every table
  storage     input and output places
  ahead       one Spark for the tables of several experiments
  together    their tables, made at once, then divided
  failures    a Spark failure in one line

Only the DataFrame API is used (no RDD, no SparkContext, no UDF), so a job runs on `local[*]`, a
standalone cluster, YARN, Kubernetes or Spark Connect by the setting `spark.master` alone.
"""
