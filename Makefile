# Two commands do all that is needed on a fresh machine: `make figures` and `make test`. Each makes the pinned environment in .venv and
# builds the runtime if they are missing or out of date. Needed: python3 (3.11 or newer, with venv and headers), a C++20 compiler, make.

PYTHON ?= python3
UV_VERSION := 0.13.8
BIN := .venv/bin
# Folders of compiled modules, as in setup.py
COMPILED := $(addprefix harness/,runtime simulator calibration bench/queues gate operators applications) tests/simulator
RUNTIME := $(wildcard harness/native/*.h* $(foreach room,$(COMPILED),$(addprefix $(room)/,*.pyx *.pxi *.pxd native/*.h*)))
# Of `make stress`: none is the program as it is
SANITIZERS ?= none thread address
STRESS := $(patsubst tests/native/%.cpp,%,$(wildcard tests/native/stress_*.cpp))
CXXFLAGS_STRESS := -std=c++20 -O2 -g -pthread -Wall -Wextra -Werror -Iharness/native -Iharness/runtime/native -Iharness/calibration/native -Iharness/simulator/native
# Folders whose docstrings are checked: each begins with a verb or a noun, and uses common words (tests/docstrings.py).
WORDED := harness topologies studies examples tests
ARGS ?=

# Figures and tests are thousands of short processes. Where this variable is set, as in many container images, each of them would compile
# every module that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

# uv brings certificates of its own. Behind a company's proxy only the system's will do, which small images may not have.
UV_SYSTEM_CERTS ?= $(if $(wildcard $(or $(SSL_CERT_FILE),/etc/ssl/certs/*.pem /etc/ssl/certs/*.crt /etc/pki/tls/certs/*.crt /etc/ssl/cert.pem)),1,0)
export UV_SYSTEM_CERTS

.DELETE_ON_ERROR:
.PHONY: help docs figures report claims gate peers test test-fast test-slow test-peers bench ratios limits sim-bench switch-bench stress explore test-tsan lint format lock build dist container clean

help:
	@echo "make figures     measure on this machine, aggregate with Spark, draw figures/ (quick profile)"
	@echo "make test        all tests but those that take minutes each (pytest -m slow)"
	@echo "make report      the figures with captions, claims and data as one page, report.html in the profile's results"
	@echo "make claims      what the papers claim, checked: figures/claims.md and .html; measures what is missing"
	@echo "make gate        is this tree slower than another one? make gate ARGS='--base main'"
	@echo "make peers       builds the other runtimes that this machine has the tools for (docs/how-to/peers.md): make peers ARGS='go java'"
	@echo "make test-fast   the deterministic tests only"
	@echo "make test-slow   the tests that take minutes each"
	@echo "make test-peers  a test of each cluster: Storm, Flink, Jet; fails where Maven is and they are not built (make peers)"
	@echo "make docs        the documentation as a site, in build/site: open build/site/index.html"
	@echo "make bench       speed of the runtime beside plain C++, with pytest-benchmark"
	@echo "make ratios      steady rates beside plain C++ and other runtimes: medians of ratios, all arms interleaved"
	@echo "make limits      what a run costs besides its speed: memory, planning, latency, sleep, profiling"
	@echo "make sim-bench   the simulator's event core beside SimPy, on the same queueing networks"
	@echo "make stress      the lock-free structures under the thread, address and undefined-behaviour sanitizers, and without"
	@echo "make explore     the runtime's protocols in many interleavings; one program further: make explore ARGS='--random 1 1000000'"
	@echo "make switch-bench  what it costs a pipeline when queues of another one come and go"
	@echo "make test-tsan   the runtime's tests under ThreadSanitizer, but those of memory, guards of stacks and 10,000 co-routines;"
	@echo "                 some of them: make test-tsan ARGS=tests/runtime/test_stop.py"
	@echo "make lint        formatting and static checks;  make format  mends what can be mended"
	@echo "make dist        a source distribution and a wheel for other machines, in dist/: make dist MARCH=x86-64-v4"
	@echo "make container   an image with everything inside, by docker, podman or apptainer"
	@echo "make lock        requirements.lock anew from requirements.in"
	@echo "Options go in ARGS, e.g. make figures ARGS='--size paper'"

figures: build
	@$(BIN)/python -m harness figures $(ARGS)

report: build
	@$(BIN)/python -m harness figures $(ARGS) --report

claims: build
	@$(BIN)/python -m harness figures claims $(ARGS)

# Make ends with 2 whatever the gate ends with: who needs its exit code calls $(BIN)/millrace gate
gate: build
	@$(BIN)/python -m harness gate $(ARGS)

# A tool that is missing is one line, and nothing else needs what is built here
peers: build
	@$(BIN)/python -m harness.peers.build $(ARGS)

docs: build
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --clean
	@echo "docs: build/site/index.html"

# Files are shared out among processes, twice as many as there are CPUs: many tests wait for a while and leave a CPU idle. No test asserts
# a time, and those that measure for real wait for each other.
TESTERS := $(shell nproc | awk '{n = 2 * $$1; print (n > 6 ? 6 : n)}')
# Bytecode is kept, whatever the environment says: tests start hundreds of processes.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(TESTERS) --dist loadfile --no-loadscope-reorder --benchmark-disable
BESIDE := --assert=plain --showlocals

test: build
	@$(PYTEST) $(BESIDE) -m "not slow" $(ARGS) || { [ $$? = 1 ] && $(BIN)/python -m tests.again -m "not slow"; }

test-fast: build
	@$(PYTEST) $(BESIDE) -m "not slow and not heavy" $(ARGS) || { [ $$? = 1 ] && $(BIN)/python -m tests.again -m "not slow and not heavy"; }

test-slow: build
	@$(PYTEST) -m slow --ignore tests/benchmarks $(ARGS)

# A cluster takes ten seconds to start: of its tests, which `make test` leaves out, here is one. It fails if Maven is here and the cluster is
# not built.
CLUSTERS := every_tuple_once and pipeline and not batched and not unchained
test-peers: build
	@MILLRACE_CLUSTERS=required $(BIN)/python -m pytest -q -n 1 -m slow tests/peers/test_peers.py -k '$(CLUSTERS)' $(ARGS)

ratios: build
	@$(BIN)/python -m tests.benchmarks.ratios $(ARGS)

limits: build
	@$(BIN)/python -m tests.benchmarks.limits $(ARGS)

sim-bench: build
	@$(BIN)/python -m tests.benchmarks.simulator_events $(ARGS)

switch-bench: build
	@$(BIN)/python -m tests.benchmarks.switching $(ARGS)

bench: build
	@$(BIN)/python -m pytest tests/benchmarks -m slow --benchmark-only -q $(ARGS)

lint: .venv/.installed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tests.docstrings $(WORDED)
	@PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint $(COMPILED)
	@$(BIN)/clang-format --dry-run -Werror $$(git ls-files '*.hpp' '*.cpp')
	@$(BIN)/snakefmt --check Snakefile harness/workflow
	@! grep -nE '://|^--' requirements.lock

format: .venv/.installed
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	@$(BIN)/clang-format -i $$(git ls-files '*.hpp' '*.cpp')
	@$(BIN)/snakefmt Snakefile harness/workflow

lock: .venv/.installed
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	    -o requirements.lock requirements.in

# Wheels are for other machines: MARCH is the level of x86-64 that their CPUs must have
MARCH ?= x86-64-v3
dist: .venv/.installed
	@rm -rf dist
	@MILLRACE_CFLAGS="-O3 -march=$(MARCH) -ffp-contract=off -g1" $(BIN)/uv build --quiet --python $(BIN)/python --out-dir dist .
	@ls -l dist

# The image is built by the first of these tools that there is
container:
	@if command -v docker > /dev/null; then docker build -f container/Dockerfile -t millrace .; \
	elif command -v podman > /dev/null; then podman build -f container/Dockerfile -t millrace .; \
	elif command -v apptainer > /dev/null; then apptainer build build/millrace.sif container/millrace.def; \
	else echo "millrace: docker, podman or apptainer is needed to build a container, and none is installed"; exit 1; fi

clean:
	rm -rf .venv build .snakemake .millrace results/raw results/tables results/logs
	rm -f $(addsuffix /*.so,$(COMPILED))

# -- what the commands above stand on --------------------------------------------------------------------------------------------

build: build/.built

build/.built: .venv/.installed setup.py $(RUNTIME)
	@echo "millrace: building the runtime (about half a minute) ..."
	@mkdir -p build
	@$(BIN)/python setup.py --quiet build_ext --inplace --parallel 2 > build/log 2>&1 || { tail -40 build/log; exit 1; }
	@touch $@

.venv/.installed: requirements.lock
	@$(MAKE) --no-print-directory check-tools
	@echo "millrace: making the environment in .venv (downloads about 700 MB once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/uv pip install --quiet --no-deps --require-hashes --compile-bytecode -r requirements.lock
	@echo "$(CURDIR)" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/millrace.pth"
	@printf '#!/bin/sh\n[ "$$(readlink -f "$$0")" = "%s" ] || echo "millrace: this environment belongs to %s; rm -r .venv, then make build" >&2\nexec "%s/.venv/bin/python" -m harness "$$@"\n' \
	    "$$(readlink -f $(BIN))/millrace" "$(CURDIR)" "$(CURDIR)" > $(BIN)/millrace && chmod +x $(BIN)/millrace
	@touch $@

.PHONY: check-tools
check-tools:
	@command -v $(PYTHON) > /dev/null || \
	    { echo "millrace: $(PYTHON) is missing: install Python 3.11 or newer (Debian: apt install python3 python3-venv python3-dev)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "millrace: $(PYTHON) is $$($(PYTHON) -V 2>&1): Python 3.11 or newer is needed (make PYTHON=python3.12 ...)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	    { echo "millrace: $(PYTHON) cannot make environments: install its venv module (Debian: apt install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))' || \
	    { echo "millrace: the headers of $(PYTHON) are missing: install them (Debian: apt install python3-dev)"; exit 1; }
	@echo 'int main() {}' | $(CXX) -std=c++20 -x c++ - -o /dev/null 2> /dev/null || \
	    { echo "millrace: $(CXX) is missing or knows no C++20: install g++ 12 or newer (Debian: apt install g++), or set CXX"; exit 1; }

# -- stress: each program, under each sanitizer and without --------------------------------------------------------------------

# A program of one thread has no data races to find.
ONE_THREAD := stress_contexts

stress: $(foreach sanitizer,$(SANITIZERS),$(addprefix build/stress/$(sanitizer)/,$(addsuffix .ok,$(if $(filter thread,$(sanitizer)),$(filter-out $(ONE_THREAD),$(STRESS)),$(STRESS)))))
	@echo "stress: $(words $(STRESS)) programs clean under: $(SANITIZERS) (address: undefined behaviour, too)"

build/stress/%.ok: build/stress/%
	@echo "stress: $*"
	@TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=handle_sigill=1 timeout 300 $<
	@touch $@

# The thread sanitizer has to be alone; the other two go together. Without any the CPU's own reordering shows best: what is instrumented
# leaves the store buffer time to empty. With -Og GCC takes half of the time to instrument, and what it makes runs no slower. A trap in
# place of a message saves a third of the time that the other two take to compile; the address sanitizer says where it was, as it does for
# null pointers.
SANITIZERS_none :=
SANITIZERS_thread := -fsanitize=thread -fno-omit-frame-pointer -Og -g1
SANITIZERS_address := -fsanitize=address,undefined -fno-sanitize=null -fsanitize-undefined-trap-on-error -fno-omit-frame-pointer -Og -g1

define STRESS_RULE
build/stress/$(1)/%: tests/native/%.cpp $(wildcard tests/native/*.hpp) $(wildcard harness/native/*.hpp $(foreach room,runtime calibration simulator,harness/$(room)/native/*.hpp) tests/simulator/native/*.hpp)
	@mkdir -p $$(dir $$@)
	@$$(CXX) $$(CXXFLAGS_STRESS) $$(SANITIZERS_$(1)) -o $$@ $$<
endef
$(foreach sanitizer,none thread address,$(eval $(call STRESS_RULE,$(sanitizer))))
.PRECIOUS: build/stress/none/% build/stress/thread/% build/stress/address/%

# -- explore: each program goes through the interleavings of its scenarios ------------------------------------------------------

EXPLORED := $(addprefix build/explore/,explore_coroutines explore_replicas explore_ready explore_switching)

explore: $(EXPLORED)
	@for program in $(EXPLORED); do \
	    echo "$$program"; \
	    $$program $(or $(ARGS),--surprises 3 --executions 500000) || exit 1; \
	    test -n "$(ARGS)" || $$program --surprises 4 --random 1 50000 || exit 1; \
	done

build/explore/%: tests/native/%.cpp $(wildcard tests/native/*.hpp) $(wildcard harness/native/*.hpp)
	@mkdir -p $(dir $@)
	@$(CXX) -std=c++20 -O2 -g1 -Wall -Wextra -Werror -Iharness/native -o $@ $<

test-tsan: build
	@tests/native/tsan.sh $(ARGS)
