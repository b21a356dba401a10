# Benches: results that are computed and need no measuring.


rule bench_laws:
    """Every control law of the thread level on every scenario of the SASO bench, closed loop,
    seeded.
    """
    input:
        code(freshness.of_bench("threads")),
    output:
        CONFIG.bench("saso"),
    log:
        f"{CONFIG.results}/logs/tables/saso.log",
    # Before simulations, which are many and short: the longest job of one core, started last, would
    # leave the other cores idle.
    priority: 4
    threads: 1
    params:
        every=CONFIG.bench_every["saso"],
    shell:
        "millrace laws bench --every {params.every} --jobs {threads} --table {output:q} > {log:q} 2>&1"


rule bench_placements:
    """Every law that places queues, and the baselines, on scenarios of the SASO bench in two
    dimensions.
    """
    input:
        code(freshness.of_bench("queues")),
    output:
        CONFIG.bench("saso_placement"),
    log:
        f"{CONFIG.results}/logs/tables/saso_placement.log",
    priority: 4
    threads: 1
    params:
        every=CONFIG.bench_every["saso_placement"],
    shell:
        "millrace laws bench --multilevel --every {params.every} --jobs {threads} --table {output:q} > {log:q} 2>&1"
