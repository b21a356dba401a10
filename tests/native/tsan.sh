#!/usr/bin/env bash
# The runtime's own tests on a build instrumented by ThreadSanitizer, in a tree of its own (build/tsan), because the extensions have the
# same names. CPython itself is not instrumented, so reports are about the runtime alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
tree=$PWD/build/tsan
library=$("${CXX:-g++}" -print-file-name=libtsan.so)
mkdir -p "$tree"
for part in setup.py pyproject.toml harness topologies tests config examples docs; do
  rm -rf "${tree:?}/$part"
  cp -R "$part" "$tree/$part"
done
rm -f "$tree"/harness/runtime/*.so "$tree"/harness/calibration/*.so
cd "$tree"
MILLRACE_SANITIZE=thread MILLRACE_CFLAGS="-O1 -g" "$python" setup.py --quiet build_ext --inplace --parallel 2 > log 2>&1 || { tail -40 log; exit 1; }
# left out: what runs sanitizers of its own, and 10,000 threads, which are more than its memory for them
# setarch -R: some kernels place memory where ThreadSanitizer does not expect it
TSAN_OPTIONS="halt_on_error=1 exitcode=66" LD_PRELOAD="$library" PYTHONPATH="$tree" setarch -R \
  "$python" -m pytest tests/runtime -q -p no:cacheprovider --timeout 300 \
  --ignore tests/runtime/test_native.py -k "not ten_thousand" "$@"
