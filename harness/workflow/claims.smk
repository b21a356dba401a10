# Checking: the tables of all experiments that the papers' claims look at -> one report.


rule claims:
    """The papers' claims beside the values in the tables, as Markdown and as a page."""
    input:
        code(freshness.of_claims()),
        tables=[
            f"{CONFIG.tables(name)}/{table}.parquet" for name in CLAIMED for table in CLAIM_TABLES
        ],
    output:
        md=CONFIG.figure("claims", "md"),
        html=CONFIG.figure("claims", "html"),
    log:
        f"{CONFIG.results}/logs/figures/claims.log",
    threads: 1
    params:
        tables=lambda wildcards, input: Path(input.tables[0]).parents[1],
    shell:
        "millrace claims --tables {params.tables:q} --output {output.md:q} --output {output.html:q} > {log:q} 2>&1"
