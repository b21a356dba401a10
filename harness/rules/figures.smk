# Drawing: the tables of one experiment into its figure.


rule figure:
    """One figure, for documents (PNG) and for print and the report (SVG)."""
    input:
        DRAWING,
        throughput=rules.aggregate.output.throughput,
        speedup=rules.aggregate.output.speedup,
    output:
        png=CONFIG.figure("{experiment}", "png"),
        svg=report(
            CONFIG.figure("{experiment}", "svg"),
            caption="captions/figure.rst",
            category="Figures",
            labels={"figure": "{experiment}", "profile": CONFIG.profile},
        ),
    log:
        f"{CONFIG.results}/logs/figures/{{experiment}}.log",
    threads: 1
    params:
        tables=lambda wildcards, input: Path(input.throughput).parent,
        caption=lambda wildcards: (CAPTIONS / f"{wildcards.experiment}.rst").read_text(encoding="utf-8"),
    shell:
        "millrace plot {wildcards.experiment:q} --tables {params.tables:q} "
        "--output {output.png:q} --output {output.svg:q} > {log:q} 2>&1"
