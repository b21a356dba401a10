#!/bin/sh
# Has Spin (spinroot.com) verify switching.pml: assertions and deadlocks, then that every weakly fair run ends. Called by `make model-check`.
set -eu
model=$(cd "$(dirname "$0")" && pwd)/switching.pml
if ! command -v spin > /dev/null; then
  echo "model-check: spin is not installed; make test checks the same model without (tests/runtime/test_switching_model.py)"
  exit 0
fi
place=${1:-build/model}
mkdir -p "$place"
cd "$place"
for sizes in "-DPRODUCERS=1 -DTUPLES=3 -DCHANGES=3" "-DPRODUCERS=2 -DTUPLES=2 -DCHANGES=3"; do
  for stops in 0 1; do
    spin $sizes -DSTOPS=$stops -a "$model" > translated
    ${CC:-cc} -O2 -w -DNFAIR=3 -DVECTORSZ=2048 -o pan pan.c
    for what in "-noclaim" "-a -f"; do
      ./pan -m1000000 $what > verdict 2>&1
      grep -q "errors: 0" verdict || { cat verdict; echo "model-check: switching.pml is wrong with $sizes -DSTOPS=$stops ($what)"; exit 1; }
    done
    echo "model-check: no error with $sizes -DSTOPS=$stops"
  done
done
