#!/usr/bin/env bash
# The runtime's own tests on a build instrumented by ThreadSanitizer, in a tree of its own (build/tsan), because the extensions have the
# same names. CPython itself is not instrumented, so reports are about the runtime alone.
#
# Words are options of pytest, and files or tests: with any of these only they run.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$PWD/.venv/bin/python
tree=$PWD/build/tsan
library=$(${CXX:-g++} -print-file-name=libtsan.so) # CXX may have several words
mkdir -p "$tree"
# Times of files are kept, so that modules that stay as they are are not built anew.
for part in setup.py pyproject.toml harness topologies tests config examples docs; do
  rm -rf "${tree:?}/$part"
  cp -a "$part" "$tree/$part"
done
cd "$tree"
# What runs real threads is instrumented. The simulator, which has one, and the calibration stay out.
rm -f harness/runtime/*.so harness/operators/*.so
find harness tests/simulator -name '*.pyx' ! -path 'harness/runtime/*' ! -path 'harness/operators/*' -delete
MILLRACE_SANITIZE=thread MILLRACE_CFLAGS="-O1 -g" "$python" setup.py --quiet build_ext --inplace --parallel 2 > log 2>&1 || { tail -40 log; exit 1; }
files=(tests/runtime)
for word in "$@"; do
  case $word in tests/*) files=() ;; esac
done
# Left out (plain_build): programs that tests compile, which have sanitizers of their own, or one thread (the scheduler, the explorer). What
# looks at memory or at guards of stacks, which such a build does not have. Graphs of 10,000 co-routines: each is a thread to
# ThreadSanitizer, which knows 8,128.
# setarch -R: some kernels place memory where ThreadSanitizer does not expect it
#
# The C library keeps the stack of a thread that has ended, and with it the thread's variables, which
# it frees when it gives the stack to another thread: it orders the two in a way that ThreadSanitizer
# does not see.
echo 'race:_dl_deallocate_tls' > suppressions
# A race ends the process, and pytest loses what that process wrote to standard error. So reports go to files, which are shown at the end,
# and -v names each test before it begins. A process that a test starts may write a report, too.
rm -f report.*
code=0
TSAN_OPTIONS="halt_on_error=1 exitcode=66 suppressions=$tree/suppressions log_path=$tree/report" LD_PRELOAD="$library" PYTHONPATH="$tree" setarch -R \
  "$python" -m pytest "${files[@]}" -v -p no:cacheprovider -m "not plain_build and not slow" "$@" || code=$?
for report in report.*; do
  [ -e "$report" ] || continue
  echo
  cat "$report"
  code=66
done
exit $code
