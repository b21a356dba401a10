# Measuring: the one rule that must have the machine to itself.


rule measure:
    """One block: one cell under all arms, all repeats, in random order, each run in a fresh process."""
    input:
        RUNTIME,
        lambda wildcards: topology_files(BLOCKS[wildcards.experiment, wildcards.cell].cell),
    output:
        CONFIG.records("{experiment}", "{cell}"),
    log:
        f"{CONFIG.results}/logs/raw/{{experiment}}/{{cell}}.log",
    # first of all, so that the tables are then made side by side
    priority: 1
    # All cores: no other job runs at the same time, whatever -c says. Snakemake exports OMP_NUM_THREADS (and its like for OpenBLAS,
    # MKL, …) = threads; the runtime uses none of these libraries, its threads are those of the arms.
    threads: workflow.cores
    params:
        # records that were measured under other settings are out of date
        settings=lambda wildcards: BLOCKS[wildcards.experiment, wildcards.cell].settings,
    shell:
        'millrace sweep {wildcards.experiment:q} --cell {wildcards.cell:q} --config "$CONFIG" '
        "--output {output:q} > {log:q} 2>&1"
