# All rules of the workflow but `all`, for ../../Snakefile and for the command line (Snakefile).

from snakemake.utils import min_version

min_version("9.0")


include: "common.smk"
include: "measure.smk"
include: "aggregate.smk"
include: "bench.smk"
include: "figures.smk"
include: "claims.smk"
