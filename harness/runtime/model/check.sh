#!/bin/sh
# Has Spin (spinroot.com) verify the model: assertions and deadlocks, then that every weakly fair run ends. Called by `make model-check`.
set -eu
models=$(cd "$(dirname "$0")" && pwd)
if ! command -v spin > /dev/null; then
  echo "model-check: spin is not installed; make test checks the same models without (tests/runtime/test_*_model.py)"
  exit 0
fi
place=${1:-build/model}
mkdir -p "$place"
cd "$place"

verify() { # a model, and its sizes
  model=$1
  shift
  spin "$@" -a "$models/$model" > translated
  ${CC:-cc} -O2 -w -DNFAIR=4 -DVECTORSZ=2048 -o pan pan.c
  for what in "-noclaim" "-a -f"; do
    ./pan -m1000000 $what > verdict 2>&1
    grep -q "errors: 0" verdict || { cat verdict; echo "model-check: $model is wrong with $* ($what)"; exit 1; }
  done
  echo "model-check: no error in $model with $*"
}

for stops in 0 1; do
  verify switching.pml -DPRODUCERS=1 -DTUPLES=3 -DCHANGES=3 -DSTOPS=$stops
  verify switching.pml -DPRODUCERS=2 -DTUPLES=2 -DCHANGES=3 -DSTOPS=$stops
done
