# Aggregating: the records of one experiment into its tables.


rule aggregate:
    """All tables of one experiment, made by Spark. A setting of the config (spark.master) says
    where Spark runs.
    """
    input:
        code(freshness.of_tables()),
        records=lambda wildcards: [
            CONFIG.records(wildcards.experiment, block.stem)
            for block in EXPERIMENTS[wildcards.experiment].blocks()
        ]
        + CONFIG.brought(wildcards.experiment),
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
    # Before figures, which run side by side once no job needs all cores.
    priority: 1
    # All cores, so that these jobs start after all measuring and simulating, which have a higher
    # priority. The first one then also makes the tables of the other experiments whose records are
    # complete, and the later jobs only fetch them: Spark takes longer to start than to do all of
    # this, and with one core for each job several Sparks would start.
    # A service rule (`service()` of Snakemake) cannot keep one Spark running for all of them: the
    # service and the jobs that use it are one group. It needs the cores of all its jobs together,
    # so a workflow with more experiments than cores fails; and if one experiment's job fails, the
    # tables of all the others are deleted.
    threads: workflow.cores
    params:
        records=lambda wildcards, input: Path(input.records[0]).parent,
        tables=lambda wildcards, output: Path(output.throughput).parent,
    shell:
        'millrace aggregate --records {params.records:q} --tables {params.tables:q} --config "$CONFIG" --ahead > {log:q} 2>&1'
