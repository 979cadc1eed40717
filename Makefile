# Everything a developer or a build server does here. `make` alone lists it.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
DEST     ?= demo/growth-data
FUZZTIME ?= 20s
BENCH    ?= .

# The modules beside the main one: an end-to-end test that needs cgo, and the
# development tools, so that neither is a dependency of the command.
E2E   := internal/e2e
TOOLS := tools

BIN         := bin/growth-export
GOLANGCI    := .tools/golangci-lint
GOVULNCHECK := .tools/govulncheck
VERSITYGW   := .tools/versitygw

# A slow machine may take a while: the race detector, kills, and the real S3 server have one processor then.
TIMEOUT := -timeout 40m

# Directories of the main module that hold tests of the given kind.
packages_with = $(shell grep -rlE --include='*_test.go' '^func $(1)[A-Z]' cmd internal schemas \
	| grep -v '^$(E2E)/' | xargs -r -n1 dirname | sort -u | sed 's|^|./|')

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/growth-export
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/export

.PHONY: demo
demo: build ## export a simulated service to DEST and read a result back; needs Go alone
	$(BIN) run --simulate --dest $(DEST)
	@echo
	@CGO_ENABLED=0 $(GO) run ./examples/ritbygrade $(DEST)

.PHONY: test
test: $(VERSITYGW) ## all tests, with race detector, shuffled, DuckDB end to end included; needs a C compiler
	CGO_ENABLED=1 VERSITYGW=$(CURDIR)/$(VERSITYGW) $(GO) test -race -shuffle=on $(TIMEOUT) ./...
	cd $(E2E) && CGO_ENABLED=1 $(GO) test -race -shuffle=on $(TIMEOUT) ./...

.PHONY: test-spark
test-spark: .tools/spark-venv ## Spark reads every table and agrees with DuckDB; needs Python and Java
	.tools/spark-venv/bin/python examples/spark/test_spark.py

.PHONY: test-examples
test-examples: build $(VERSITYGW) .tools/kubernetes-venv .tools/readers-venv .tools/walkthrough-venv ## configuration, cron, systemd, Kubernetes, readers and the walkthrough; needs Python
	examples/config/test.sh $(BIN) $(VERSITYGW)
	examples/cron/test.sh $(BIN)
	examples/systemd/test.sh $(BIN)
	.tools/kubernetes-venv/bin/python -B examples/kubernetes/test_kubernetes.py $(BIN)
	.tools/readers-venv/bin/python -B examples/readers/test_readers.py $(BIN)
	.tools/walkthrough-venv/bin/python -B examples/walkthrough/test_walkthrough.py $(BIN)

.PHONY: test-airflow
test-airflow: build .tools/airflow-venv ## the example of Airflow on a real one; needs Python
	.tools/airflow-venv/bin/python -B examples/airflow/test_airflow.py $(BIN)

# How often `make torture` kills, 0 for no end, and where it begins.
KILLS ?= 0
SEED  ?= 1

.PHONY: torture
torture: $(VERSITYGW) ## kill runs to disk and to S3 at random moments (KILLS, SEED), without end
	VERSITYGW=$(CURDIR)/$(VERSITYGW) $(GO) test -count=1 -timeout 0 -v -run 'TestKill$$' ./cmd/export -kills $(KILLS) -kill-seed $(SEED)

.PHONY: test-slurm
test-slurm: build ## three shards on a real Slurm, one killed; needs slurm-wlm and munge
	examples/slurm/test.sh $(BIN)

.PHONY: lint
lint: $(GOLANGCI) tidy-check vuln ## linters, formatting, import rules, prose, tidy modules, known vulnerabilities
	$(GO) test ./internal/prose
	$(GOLANGCI) run ./...
	cd $(E2E) && $(CURDIR)/$(GOLANGCI) run ./...

.PHONY: fmt
fmt: $(GOLANGCI) ## format the code as lint wants it
	$(GOLANGCI) fmt ./...
	cd $(E2E) && $(CURDIR)/$(GOLANGCI) fmt ./...

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not tidy
	@for dir in . $(E2E) $(TOOLS); do echo "go mod tidy -diff ($$dir)"; (cd $$dir && $(GO) mod tidy -diff) || exit 1; done

# The database of vulnerabilities is the one thing here that is neither source
# nor module: where it cannot be reached the check says so and lets pass.
.PHONY: vuln
vuln: $(GOVULNCHECK) ## known vulnerabilities in what the code calls; skipped, with a word, without their database
	@status=0; out=$$($(GOVULNCHECK) ./... 2>&1) || status=$$?; \
	case "$$status $$out" in \
	0*) echo "govulncheck: nothing known" ;; \
	*"fetching vulnerabilities"*) echo "govulncheck: SKIPPED, the database of vulnerabilities cannot be reached from here" ;; \
	*) echo "$$out"; exit $$status ;; \
	esac

.PHONY: bench
bench: ## benchmarks (BENCH=pattern), the naive way beside ours
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(call packages_with,Benchmark)

.PHONY: fuzz
fuzz: ## each fuzz test for FUZZTIME
	@set -e; for pkg in $(call packages_with,Fuzz); do \
		for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | cut -c6-); do \
			echo "$$pkg $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: generate
generate: ## rewrite what follows from the declarations (schemas/generated)
	$(GO) generate ./...

.PHONY: clean
clean: ## remove what these targets made
	rm -rf bin .tools demo

# Tools are built from the versions that tools/go.mod pins, once.
tool = $(GO) build -modfile=$(TOOLS)/go.mod -o $@ $(1) && touch $@

$(GOLANGCI): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(GOVULNCHECK): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,golang.org/x/vuln/cmd/govulncheck)

# A real S3 server for tests.
$(VERSITYGW): $(TOOLS)/go.mod $(TOOLS)/go.sum
	$(call tool,github.com/versity/versitygw/cmd/versitygw)

# What the Python of an example needs, in a place of its own.
.tools/%-venv: examples/%/requirements.txt
	python3 -m venv --clear $@
	$@/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@
