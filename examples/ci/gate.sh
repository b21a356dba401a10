#!/bin/sh
# The gate in any CI: compares the commit that is checked out with where it left the main branch, keeps the reports, says in words what
# came out, and ends with the gate's exit code. Options of `millrace gate` are passed on:
#
#   examples/ci/gate.sh --suite config/gate/short.yaml --time-budget 300 --inconclusive pass
#
#   MILLRACE     the command (default: millrace)                  GATE_OUT     folder of the reports (default: gate-results)
#   GATE_BASE    what to compare with (default: found, see base)  GATE_MAIN    the main branch (default: main)
#   GATE_HEAD    what is compared (default: . as it is)           GATE_REMOTE  where it is (default: origin)
#
# Needed: git, and a clone; a shallow one is deepened as far as it takes.
set -eu

gate=${MILLRACE:-millrace} out=${GATE_OUT:-gate-results} head=${GATE_HEAD:-.} main=${GATE_MAIN:-main} remote=${GATE_REMOTE:-origin}
tip=refs/remotes/$remote/$main

say() { # whether or not it can be written: the exit code still counts
    echo "gate: $1" || :
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then echo "Gate: $1" >> "$GITHUB_STEP_SUMMARY" || :; fi
}

end() { # code: says what it means
    if [ "$1" = 0 ] && ! grep -q '^### Gate: OK' "$out/verdict.md"; then
        say "UNDECIDED: let through by --inconclusive pass, although some cells may be slower; the report names them"
        exit 0
    fi
    case $1 in
        0) say "passed: no cell is slower by more than the factor" ;;
        1) say "REGRESSED: at least one cell is slower by more than the factor (or cannot be told, with --inconclusive fail); the report names it" ;;
        2) say "wrong use: an option, a suite or the head revision; the line above says which" ;;
        3) say "INCONCLUSIVE: undecided: the time budget did not suffice to tell; nothing was found to be slower" ;;
        4) say "NO BASE: a cell has nothing to compare with, or base does not build; that is no pass" ;;
        5) say "NOT MEASURED: head does not build, or a cell gave no number; that is no pass" ;;
        6) say "HOST UNSTABLE: base differs from itself here, and no cell was proven slower; start the job again, or take another runner" ;;
        7) say "WRONG RESULTS: head loses, doubles or harms what it processes; how fast it is does not matter" ;;
        129 | 130 | 143) say "interrupted" ;;
        *) say "the gate itself failed, with exit code $1" ;;
    esac
    exit "$1"
}

fetch() { # options of git fetch: brings the main branch, and what HEAD has behind it
    git fetch --quiet --no-tags "$@" "$remote" "+refs/heads/$main:$tip" "$(git rev-parse HEAD)" 2> /dev/null ||
        git fetch --quiet --no-tags "$@" "$remote" "+refs/heads/$main:$tip" # a server may refuse to be asked for a commit
}

is_shallow() { [ "$(git rev-parse --is-shallow-repository)" = true ]; }

ancestor() { # where HEAD left the main branch; on the main branch, the commit before HEAD
    found=$(git merge-base HEAD "$tip") || return 1
    if [ "$found" = "$(git rev-parse HEAD)" ]; then found=$(git rev-parse --quiet --verify HEAD^) || return 1; fi
    echo "$found"
}

base() {
    if ! is_shallow; then
        fetch && ancestor
        return
    fi
    for depth in 50 1000; do
        fetch --depth="$depth" && ancestor && return
    done
    is_shallow && fetch --unshallow
    ancestor
}

if [ -z "${GATE_BASE:-}" ]; then
    if ! GATE_BASE=$(base); then
        echo "gate: no commit of $remote/$main is behind HEAD: set GATE_BASE, or GATE_MAIN and GATE_REMOTE" >&2
        end 4
    fi
fi
echo "gate: base is $GATE_BASE" || :

mkdir -p "$out" || end 70
echo '*' > "$out/.gitignore" # a head with files that git does not know would count as changed
code=0
$gate gate --base "$GATE_BASE" --head "$head" \
    --json "$out/verdict.json" --report "$out/verdict.md" --junitxml "$out/verdict.xml" --sarif "$out/verdict.sarif" --explain "$out/explain" "$@" || code=$?
end "$code"
