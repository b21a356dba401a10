# Measuring: the one rule that must have the machine to itself; and simulating, which need not.


rule measure:
    """One block: one cell under all arms, all repeats, in random order, each run in a fresh
    process.
    """
    input:
        block_code,
    output:
        CONFIG.records("{experiment}", "{block}"),
    log:
        f"{CONFIG.results}/logs/raw/{{experiment}}/{{block}}.log",
    wildcard_constraints:
        block=any_of(stem for (_, stem), block in BLOCKS.items() if not block.place.simulated),
    # After the jobs that run side by side, before the tables, so that Spark starts once.
    priority: 2
    # All cores: no other job runs at the same time, for any -c. Snakemake exports OMP_NUM_THREADS
    # (and its like for OpenBLAS, MKL, …) = threads; the runtime uses none of these libraries, its
    # threads are those of the arms.
    threads: workflow.cores
    params:
        settings=block_settings,
    shell:
        'millrace sweep {wildcards.experiment:q} --cell {wildcards.block:q} --config "$CONFIG" '
        "--output {output:q} > {log:q} 2>&1"


rule simulate:
    """One block on a simulated machine, in virtual time: blocks are simulated side by side, each on
    one core.
    """
    input:
        block_code,
    output:
        CONFIG.records("{experiment}", "{block}"),
    log:
        f"{CONFIG.results}/logs/raw/{{experiment}}/{{block}}.log",
    wildcard_constraints:
        block=any_of(stem for (_, stem), block in BLOCKS.items() if block.place.simulated),
    priority: 3
    threads: 1
    params:
        settings=block_settings,
    shell:
        'millrace sweep {wildcards.experiment:q} --cell {wildcards.block:q} --config "$CONFIG" '
        "--output {output:q} > {log:q} 2>&1"
