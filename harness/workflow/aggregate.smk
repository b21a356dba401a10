# Aggregating: the records of one experiment into its tables.


rule aggregate:
    """All tables of one experiment, by Spark. Where Spark runs is a setting of the config (spark.master)."""
    input:
        code(freshness.of_tables()),
        records=lambda wildcards: [
            CONFIG.records(wildcards.experiment, block.stem) for block in EXPERIMENTS[wildcards.experiment].blocks()
        ],
    output:
        throughput=directory(f"{CONFIG.tables('{experiment}')}/throughput.parquet"),
        samples=directory(f"{CONFIG.tables('{experiment}')}/samples.parquet"),
        timeline=directory(f"{CONFIG.tables('{experiment}')}/timeline.parquet"),
        latency=directory(f"{CONFIG.tables('{experiment}')}/latency.parquet"),
        speedup=directory(f"{CONFIG.tables('{experiment}')}/speedup.parquet"),
        quarantine=directory(f"{CONFIG.tables('{experiment}')}/quarantine.parquet"),
    log:
        f"{CONFIG.results}/logs/tables/{{experiment}}.log",
    benchmark:
        f"{CONFIG.results}/logs/tables/{{experiment}}.benchmark.tsv"
    # Before figures, which are drawn side by side once no job wants all cores any more.
    priority: 1
    # All cores, so that these jobs wait until nothing is left to measure or to simulate, both of which come first. The first of them then
    # makes the tables of the other experiments too, as far as their records are there, and these only fetch theirs: starting Spark takes
    # longer than all that it then does, and with a core for each, several would be started.
    threads: workflow.cores
    params:
        records=lambda wildcards, input: Path(input.records[0]).parent,
        tables=lambda wildcards, output: Path(output.throughput).parent,
    shell:
        'millrace aggregate --records {params.records:q} --tables {params.tables:q} --config "$CONFIG" --ahead > {log:q} 2>&1'
