# Drawing: the tables of one experiment, or of one bench, into its figure.


rule figure:
    """One figure, for documents (PNG) and for print and the report (SVG)."""
    input:
        lambda wildcards: code(freshness.of_figure(FIGURES[wildcards.figure].module)),
        tables=figure_tables,
    output:
        png=CONFIG.figure("{figure}", "png"),
        svg=CONFIG.figure("{figure}", "svg"),
    log:
        f"{CONFIG.results}/logs/figures/{{figure}}.log",
    threads: 1
    params:
        tables=lambda wildcards: CONFIG.tables(wildcards.figure),
        # A row that changed makes its own figure out of date. So the table is no input.
        row=lambda wildcards: repr(FIGURES[wildcards.figure]),
    shell:
        "millrace plot {wildcards.figure:q} --tables {params.tables:q} "
        "--output {output.png:q} --output {output.svg:q} > {log:q} 2>&1"
