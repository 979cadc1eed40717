# Build, test and release tasks. `make` lists them.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
DEST     ?= demo/growth-data
FUZZTIME ?= 20s
BENCH    ?= .

# The end-to-end tests, which need cgo, the comparison with other exporters, the development tools and the rehearsal on
# Kubernetes are modules of their own, so that the command does not depend on them.
E2E       := internal/e2e
PEERS     := bench
TOOLS     := tools
REHEARSAL := examples/kubernetes/rehearsal

BIN         := bin/growth-export
GOLANGCI    := .tools/golangci-lint
GOVULNCHECK := .tools/govulncheck
VERSITYGW   := .tools/versitygw
GOTESTSUM   := .tools/gotestsum

# For slow machines: the race detector, kills and the S3 server are expensive.
TIMEOUT := -timeout 40m

# Packages of the main module that have tests of the given kind.
packages_with = $(shell grep -rlE --include='*_test.go' '^func $(1)[A-Z]' cmd internal schemas \
	| grep -v '^$(E2E)/' | xargs -r -n1 dirname | sort -u | sed 's|^|./|')

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/growth-export
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/export

# The nights of `make demo`. The simulated service changes from day to day, so the dates decide what it prints.
FALL    := 2025-10-10
WINTER  := 2026-02-12
TONIGHT := 2026-02-13

.PHONY: demo
demo: build ## export three nights of a simulated service to DEST, print growth and what changed; needs only Go
	@for night in $(FALL) $(WINTER) $(TONIGHT); do \
		echo "Exporting the simulated service of $$night to $(DEST)"; \
		$(BIN) run --simulate --snapshot-date $$night --backdate --if-missing --dest $(DEST) --progress none --log-level error >/dev/null || exit 1; \
	done
	@echo
	@CGO_ENABLED=0 $(GO) run ./examples/growthbygrade $(DEST) $(FALL) $(WINTER)
	@echo
	@$(BIN) diff --dest $(DEST)

# Runs go test in folder $(1) and prints each package when it ends, then the failures and the ten slowest tests.
gotest = cd $(1) || exit; status=0; $(CURDIR)/$(GOTESTSUM) --format pkgname --hide-summary skipped --jsonfile $(CURDIR)/.tools/$(2).json -- $(3) ./... || status=$$?; \
	echo "The slowest tests:"; $(CURDIR)/$(GOTESTSUM) tool slowest --num 10 --jsonfile $(CURDIR)/.tools/$(2).json; exit $$status

.PHONY: test
test: $(VERSITYGW) $(GOTESTSUM) ## run all tests, with race detector, shuffled, including DuckDB; needs a C compiler; half an hour
	$(call gotest,.,test,-race -shuffle=on $(TIMEOUT))
	$(call gotest,$(E2E),test-e2e,-race -shuffle=on $(TIMEOUT))
	$(call gotest,$(PEERS),test-bench,-shuffle=on)
	$(call gotest,$(TOOLS),test-tools,-shuffle=on)

test: export CGO_ENABLED = 1
test: export VERSITYGW = $(CURDIR)/.tools/versitygw

# Tests that take long: kills, attacks, whole exports over and over, and everything that needs the S3 server.
LONG := Kill|Torture|Hostile|Purge|Leak|Telemetry|Shards|Processes|TwoRuns|Busy|Store|S3|Doctor|Interrupt|Night|Prose|Conformance

.PHONY: test-short
test-short: $(GOTESTSUM) ## run the tests that take little time, without race detector, S3 and DuckDB
	$(call gotest,.,test-short,-short -shuffle=on -skip '$(LONG)')

# The number of nights in the history that Spark and DuckDB read.
test-spark: NIGHTS ?= 3

.PHONY: test-spark
test-spark: .tools/spark-venv ## compare Spark and DuckDB on every table, and on a history (NIGHTS); needs Python and Java
	NIGHTS=$(NIGHTS) .tools/spark-venv/bin/python examples/spark/test_spark.py

.PHONY: test-examples
test-examples: build $(VERSITYGW) .tools/kubernetes-venv .tools/monitoring-venv .tools/questions-venv .tools/readers-venv .tools/walkthrough-venv ## test the examples: configuration, cron, systemd, notifications, monitoring, Kubernetes, questions, readers, walkthrough; needs Python
	examples/config/test.sh $(BIN) $(VERSITYGW)
	examples/cron/test.sh $(BIN)
	examples/systemd/test.sh $(BIN)
	.tools/kubernetes-venv/bin/python -B examples/notify/test_notify.py $(BIN)
	.tools/monitoring-venv/bin/python -B examples/monitoring/test_monitoring.py $(BIN)
	.tools/kubernetes-venv/bin/python -B examples/kubernetes/test_kubernetes.py $(BIN)
	.tools/questions-venv/bin/python -B examples/questions/test_questions.py
	.tools/readers-venv/bin/python -B examples/readers/test_readers.py $(BIN)
	.tools/walkthrough-venv/bin/python -B examples/walkthrough/test_walkthrough.py $(BIN)

# Number of nights that the readers of Delta Lake tables are tested with.
test-delta-lake: NIGHTS ?= 8

.PHONY: test-delta-lake
test-delta-lake: build $(VERSITYGW) .tools/delta-lake-venv .tools/delta-lake-jars ## read Delta Lake tables with DuckDB, delta-rs, polars and Spark (NIGHTS); needs Python, Java and Maven
	NIGHTS=$(NIGHTS) .tools/delta-lake-venv/bin/python -B examples/delta-lake/test_delta_lake.py $(BIN) .tools/delta-lake-jars $(VERSITYGW)

.PHONY: test-dbt
test-dbt: build .tools/dbt-venv ## build and test the dbt package on a snapshot; needs Python
	.tools/dbt-venv/bin/python -B examples/dbt/test_dbt.py $(BIN)

.PHONY: test-airflow
test-airflow: build .tools/airflow-venv ## test the Airflow example on a real Airflow; needs Python
	.tools/airflow-venv/bin/python -B examples/airflow/test_airflow.py $(BIN)

# Number of kills of each command on disk and on S3 by `make torture` (0: no limit), and the random seed.
KILLS ?= 0
SEED  ?= 1
TORTURE = VERSITYGW=$(CURDIR)/$(VERSITYGW) $(GO) test -count=1 -timeout 0 -v

.PHONY: torture
torture: $(VERSITYGW) ## kill run, publish, purge and prune on disk and S3 (KILLS, SEED), until stopped
	$(TORTURE) -run 'TestKilledAnywhere$$' ./internal/maintenance -kills $(KILLS)
	$(TORTURE) -run '^TestKill' ./cmd/export -kills $(KILLS) -kill-seed $(SEED)

# How many nights in a row `make test-nights` exports and folds.
test-nights: NIGHTS ?= 400

.PHONY: test-nights
test-nights: ## compare the history of many simulated nights (NIGHTS) with what the simulated world knows
	cd $(E2E) && CGO_ENABLED=1 $(GO) test -count=1 -timeout 0 -v -run '^TestHistoryIsTrue$$' . -nights $(NIGHTS)

.PHONY: test-kubernetes
test-kubernetes: build .tools/kubernetes .tools/airflow-venv $(GOLANGCI) ## run the Kubernetes and Airflow examples on a real control plane, which takes long to build the first time; needs Python
	cd $(REHEARSAL) && CGO_ENABLED=0 $(CURDIR)/$(GOLANGCI) run ./... && CGO_ENABLED=0 $(GO) test -count=1 -timeout 20m -v .

.PHONY: test-slurm
test-slurm: build ## test the Slurm example on a real Slurm; needs slurm-wlm and munge
	examples/slurm/test.sh $(BIN)

# In the rehearsal only formatting is checked: compiling the packages that its linters need takes four minutes of CPU time.
# test-kubernetes, which compiles them anyway, runs the linters.
.PHONY: lint
lint: $(GOLANGCI) tidy-check vuln ## run linters, check formatting, import rules, prose, tidy modules, known vulnerabilities
	$(GO) test ./internal/prose
	$(GOLANGCI) run ./...
	cd $(E2E) && $(CURDIR)/$(GOLANGCI) run ./...
	cd $(PEERS) && $(CURDIR)/$(GOLANGCI) run ./...
	cd $(TOOLS) && $(CURDIR)/$(GOLANGCI) run ./...
	cd $(REHEARSAL) && $(CURDIR)/$(GOLANGCI) fmt --diff ./...

.PHONY: fmt
fmt: $(GOLANGCI) ## format the code
	$(GOLANGCI) fmt ./...
	cd $(E2E) && $(CURDIR)/$(GOLANGCI) fmt ./...
	cd $(PEERS) && $(CURDIR)/$(GOLANGCI) fmt ./...
	cd $(TOOLS) && $(CURDIR)/$(GOLANGCI) fmt ./...
	cd $(REHEARSAL) && $(CURDIR)/$(GOLANGCI) fmt ./...

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not tidy
	@for dir in . $(E2E) $(PEERS) $(TOOLS) $(REHEARSAL); do echo "go mod tidy -diff ($$dir)"; (cd $$dir && $(GO) mod tidy -diff) || exit 1; done

# The vulnerability database is neither source nor module: if it cannot be reached, the check says so and passes.
.PHONY: vuln
vuln: $(GOVULNCHECK) ## check called code for known vulnerabilities; skipped, with a message, if the database is unreachable
	@status=0; out=$$($(GOVULNCHECK) ./... 2>&1) || status=$$?; \
	case "$$status $$out" in \
	0*) echo "govulncheck: no known vulnerabilities" ;; \
	*"fetching vulnerabilities"*) echo "govulncheck: SKIPPED, the vulnerability database is unreachable" ;; \
	*) echo "$$out"; exit $$status ;; \
	esac

.PHONY: bench
bench: ## run benchmarks (BENCH=pattern), with a naive implementation for comparison
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(call packages_with,Benchmark)

# What the comparisons measure. Without RESULTS, they measure the scenarios of docs/BENCHMARKS.md and write its tables;
# with it, one scenario, whose table is only printed. BASE is the path of another build, to compare with; CONTESTANTS a
# comma-separated list of names; HUGE the size of one more school.
RESULTS     ?=
HUGE        ?= 0
CONCURRENCY ?= 8
TURNS       ?= 5
BASE        ?=
CONTESTANTS ?=
GZIP        ?= false
LATENCY     ?= 0

compare = .tools/bench/bench $(1) -build $(BIN) -base '$(BASE)' -python .tools/bench-venv/bin/python -scripts $(PEERS)/python \
	-work .tools/bench -turns $(TURNS) -concurrency $(CONCURRENCY) \
	$(if $(RESULTS)$(CONTESTANTS),$(if $(RESULTS),-results $(RESULTS)),-document docs/BENCHMARKS.md)

.PHONY: bench-peers
bench-peers: build .tools/bench-venv .tools/bench/bench ## compare with other exporters (RESULTS, BASE, CONTESTANTS, ...); needs Python
	$(call compare,peers) -huge $(HUGE) -gzip=$(GZIP) -latency $(LATENCY) -contestants '$(CONTESTANTS)'

.PHONY: bench-queries
bench-queries: build .tools/bench-venv .tools/bench/bench ## compare queries on the files of this build and of BASE; needs Python
	$(call compare,queries)

.PHONY: bench-memory
bench-memory: build .tools/bench-venv .tools/bench/bench ## compare peak memory of this build and of BASE; needs Python
	$(call compare,memory) -huge $(HUGE)

# Number of consecutive snapshots of which bench-history makes a history.
bench-history: NIGHTS ?= 30

.PHONY: bench-history
bench-history: build .tools/bench-venv .tools/bench/bench ## compare the history with other ways to keep one (NIGHTS, RESULTS); needs Python
	$(call compare,history) -nights $(NIGHTS)

.PHONY: bench-privacy
bench-privacy: build .tools/bench/bench ## measure what the privacy profiles cost (RESULTS)
	.tools/bench/bench privacy -build $(BIN) -work .tools/bench -turns $(TURNS) -concurrency $(CONCURRENCY) \
		$(if $(RESULTS),-results $(RESULTS),-document docs/BENCHMARKS.md)

# bench-scale measures 1/PART of a nation.
PART ?= 10

.PHONY: bench-scale
bench-scale: build .tools/bench/bench ## export a tenth (PART) of a nation with one process and with eight, and update docs/SCALE.md
	.tools/bench/bench scale -build $(BIN) -work .tools/bench -part $(PART) $(if $(filter 10,$(PART)),-document docs/SCALE.md)

# The size of the log that bench-delta-lake makes.
COMMITS ?= 1000
FILES   ?= 50

.PHONY: bench-delta-lake
bench-delta-lake: build .tools/delta-lake-venv .tools/delta-lake-jars ## measure how long engines take to open a Delta log (COMMITS, FILES, TURNS); needs Python, Java and Maven
	COMMITS=$(COMMITS) FILES=$(FILES) TURNS=$(TURNS) .tools/delta-lake-venv/bin/python -B $(PEERS)/python/delta_lake.py $(BIN) .tools/delta-lake-jars docs/BENCHMARKS.md

.PHONY: .tools/bench/bench
.tools/bench/bench:
	cd $(PEERS) && $(GO) build -o $(CURDIR)/$@ .

# The platforms of `make dist`.
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64

.PHONY: dist
dist: ## make the archives of a release in dist, for all PLATFORMS, and their checksums; equal sources give equal bytes
	cd $(TOOLS) && $(GO) run ./dist -platforms $(PLATFORMS) -source $(CURDIR) -out $(CURDIR)/dist -version $(VERSION) -commit $(COMMIT) \
		-time $(shell git log -1 --format=%ct)

.PHONY: site
site: .tools/site-venv ## make the documentation as a website in .tools/site; needs Python
	NO_MKDOCS_2_WARNING=1 .tools/site-venv/bin/mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml --site-dir $(CURDIR)/.tools/site

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME
	@set -e; for pkg in $(call packages_with,Fuzz); do \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | cut -c6-); do \
			echo "$$pkg $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: generate
generate: ## rewrite the generated files (schemas/generated)
	$(GO) generate ./...

.PHONY: clean
clean: ## remove everything that these targets create
	rm -rf bin .tools demo dist

# Tools are built once, from the versions in tools/go.mod.
tool = $(GO) build -modfile=$(TOOLS)/go.mod -o $@ $(1) && touch $@

$(GOLANGCI): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(GOVULNCHECK): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,golang.org/x/vuln/cmd/govulncheck)

$(GOTESTSUM): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,gotest.tools/gotestsum)

# A real S3 server for tests.
$(VERSITYGW): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/versity/versitygw/cmd/versitygw)

# The control plane and kubectl, without cgo like the test, so that both use the same compiled packages.
.tools/kubernetes: $(REHEARSAL)/go.mod $(REHEARSAL)/go.sum
	mkdir -p $@
	cd $(REHEARSAL) && CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o $(CURDIR)/$@/ tool
	mv $@/server $@/etcd
	touch $@

# A Python environment for the comparison with other exporters, and for each example.
venv = python3 -m venv --clear $@ && $@/bin/pip install --quiet --disable-pip-version-check --requirement $< && touch $@

.tools/bench-venv: $(PEERS)/python/requirements.txt
	$(venv)

.tools/site-venv: docs/site/requirements.txt
	$(venv)

.tools/%-venv: examples/%/requirements.txt
	$(venv)

# What Spark needs to read Delta Lake tables, on S3 too.
.tools/delta-lake-jars: examples/delta-lake/pom.xml
	mvn --quiet --batch-mode --file $< org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=$(CURDIR)/$@
	touch $@
