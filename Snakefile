# From experiments to figures.  Settings: config/quick.yaml (quick) or --configfile config/paper.yaml (full).
#
#   measure     harness/workflow/measure.smk      one job = one block: a cell, all its arms and repeats -> results/raw/*/*.jsonl
#   simulate    the same file                  the same on a simulated machine
#   aggregate   harness/workflow/aggregate.smk    the records of an experiment -> results/tables/*/*.parquet (Spark)
#   bench_laws  harness/workflow/bench.smk        the control laws on the SASO bench -> results/tables/saso/saso.parquet
#   bench_placements  the same file             the laws that place queues -> results/tables/saso_placement/*.parquet
#   figure      harness/workflow/figures.smk      tables -> figures/*.png, *.svg
#   claims      harness/workflow/claims.smk       tables -> figures/claims.md, .html: what of the papers holds
#
# snakemake -c2                              all figures
# snakemake -c2 figures/pldi17_fig9.png      one figure; only its experiment is measured
# python -m harness figures                  the same, with a lock, progress, and on with what was interrupted


include: "harness/workflow/rules.smk"


rule all:
    input:
        DRAWN,
        CLAIMS,
