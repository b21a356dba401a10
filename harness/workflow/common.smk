# Code that all rules share: the config, the command line, and the steps before the first job.

import os
import re
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.current_basedir).parents[1]  # holds the package `harness`
sys.path.insert(0, str(ROOT))

from harness.claims.claim import experiments as claim_experiments
from harness.claims.tables import NAMES as CLAIM_TABLES
from harness.experiments.config import DEFAULT_CONFIG, load_config
from harness.errors import RunFailed, UserError
from harness.experiments import freshness
from harness.plots.figures import FIGURES
from harness.workflow.lock import hold_lock
from harness.workflow.stale import retire_stale_records

# A file given with --configfile replaces the default one as a whole: every profile is complete.
CONFIG_FILE = os.path.relpath([DEFAULT_CONFIG, *workflow.overwrite_configfiles][-1])

try:
    CONFIG = load_config(CONFIG_FILE)
except UserError as error:
    raise WorkflowError(str(error))
if workflow.config_settings.config:
    raise WorkflowError(
        "--config is not supported: measuring processes read the file, so change that (--configfile)"
    )

EXPERIMENTS = {experiment.name: experiment for experiment in CONFIG.experiments}
BLOCKS = {
    (name, block.stem): block
    for name, experiment in EXPERIMENTS.items()
    for block in experiment.blocks()
}
DRAWN = [CONFIG.figure(name, kind) for name in CONFIG.drawn for kind in ("png", "svg")]
if strangers := [name for name in CONFIG.drawable if name not in FIGURES]:
    raise WorkflowError(
        f"{CONFIG_FILE}: experiments: {strangers[0]!r} has no row in harness/plots/figures.py"
    )

CLAIMED = [
    name for name in claim_experiments() if name in EXPERIMENTS and not EXPERIMENTS[name].on_request
]
CLAIMS = [CONFIG.figure("claims", kind) for kind in ("md", "html")] if CLAIMED else []


def figure_tables(wildcards):
    """The tables that a figure is drawn from: its experiment's, or its bench's."""
    folder = CONFIG.tables(wildcards.figure)
    return [f"{folder}/{name}.parquet" for name in FIGURES[wildcards.figure].tables]


def code(files):
    """Files that a result depends on, as inputs: relative, so that a checkout can be moved."""
    return sorted(map(os.path.relpath, files))


def block_code(wildcards):
    """The code and data of a block. A graph file is not among them: its digest is in the cell's
    name.
    """
    return code(freshness.of_block(BLOCKS[wildcards.experiment, wildcards.block]))


def block_settings(wildcards):
    """The settings of a block. Records made under other settings, or with other profiles of machine
    and software, are out of date.
    """
    return BLOCKS[wildcards.experiment, wildcards.block].settings


def aggregated():
    """The experiments whose tables are made now. Records of all others stay as they are."""
    jobs = workflow.dag.needrun_jobs()
    return {job.wildcards.experiment for job in jobs if job.rule.name == "aggregate"}


def any_of(names):
    """A pattern for the names; without any name, one that nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


# Jobs call `millrace COMMAND --config "$CONFIG"`: the command line of this checkout, in the Python
# that runs Snakemake. It is defined here and not in `params`, because the places of Python and the
# checkout must not make results out of date. `exec` makes the command a direct child of Snakemake,
# which job.py requires.
shell.prefix(
    (
        f"export PYTHONPATH={shlex.quote(str(ROOT))}${{PYTHONPATH:+:$PYTHONPATH}} CONFIG={shlex.quote(CONFIG_FILE)}; "
        f'millrace() {{ exec {shlex.quote(sys.executable)} -m harness.workflow.job {os.getpid()} "$@"; }}; '
    )
    .replace("{", "{{")
    .replace("}", "}}")
)


wildcard_constraints:
    experiment=any_of(EXPERIMENTS),
    figure=any_of(CONFIG.drawable),


onstart:
    try:
        hold_lock()
        retire_stale_records(CONFIG, aggregated())
    except RunFailed as error:
        raise WorkflowError(str(error))
