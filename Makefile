# A machine with Go, a C compiler (the race detector wants one) and the network is
# enough: what else is needed is fetched on first use.

SHELL       := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test repeat stress model fuzz mutants cover lint bench bench-check bench-scale bench-plots bench-test

# The linter has a version of its own and stays out of go.mod: users of the
# library should not meet the modules that it drags along.
GOLANGCI_VERSION := v2.15.0
GOLANGCI         := .cache/bin/golangci-lint-$(GOLANGCI_VERSION)

# For one package: make test PKG=./pubsub
PKG ?= ./...

# For one package.
TIMEOUT ?= 20m

# Tests of one package that run at a time. Most of them wait most of the time.
PARALLEL ?= 6

# Which tests repeat repeats, and how often. A test that attacks a promise with
# chance or with numbers has one of these words in its name.
RUN   ?= Attack|Race|Many|Crowd|Storm|Random|Survive
COUNT ?= 20

# How long each fuzz target runs.
D ?= 30s

# The rooms that users import, and the part of each that its own tests must reach.
COVERED := ./rlock ./ownerid ./lua ./pubsub
COVERAGE ?= 90

# Finds or installs a redis-server and leaves the environment such that a test
# which needs one runs or fails: once there is a server, a skip would be a lie.
# Without one the embedded part runs, unless the caller insists on the whole.
define with-redis
if server="$$(scripts/redis-server.sh)"; then \
	export RLOCK_REDIS_SERVER="$$server" RLOCK_REQUIRE_REDIS=1; \
	echo "tests run against $$("$$server" --version | cut -d' ' -f1-3) ($$server)"; \
elif [ "$${RLOCK_REQUIRE_REDIS:-}" = 1 ]; then \
	echo "*** NO REDIS-SERVER, and RLOCK_REQUIRE_REDIS=1 asks for one: nothing was tested" >&2; \
	exit 1; \
else \
	echo "*** NO REDIS-SERVER: ONLY THE EMBEDDED PART OF THE TESTS RUNS, the rest is skipped" >&2; \
	trap 'echo "*** NO REDIS-SERVER: what was skipped above is unproven on this machine" >&2' EXIT; \
fi
endef

# Without a C compiler there is no race detector; a suite without it beats none.
define with-race
if [ "$$(go env CGO_ENABLED)" = 1 ]; then race=-race; else race=; \
	echo "*** NO C COMPILER: THE TESTS RUN WITHOUT THE RACE DETECTOR" >&2; \
fi
endef

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | expand -t 13

demo: ## shows the lock at work; needs nothing installed
	@go run ./cmd/rlock demo

# A cached pass says nothing about a server, so -count=1.
test: ## the whole suite with the race detector, on a real redis-server (PKG=./… for a part)
	@$(with-redis); $(with-race); \
	go test $$race -count=1 -parallel=$(PARALLEL) -timeout=$(TIMEOUT) $(PKG)

repeat: ## repeats the attacks by chance (COUNT=20, RUN=<regexp of test names>, PKG=./…)
	@$(with-redis); $(with-race); \
	go test $$race -count=$(COUNT) -timeout=0 -run '$(RUN)' $(PKG)

stress: ## the volume attacks in full, of which test runs a tenth (RLOCK_STRESS_SEED=n replays)
	@$(with-redis); $(with-race); \
	RLOCK_STRESS=1 go test $$race -count=1 -timeout=0 -v ./internal/stress

model: ## searches the protocol's model on the large bound; minutes, and some GB of memory
	@RLOCK_MODEL=large go test -count=1 -timeout=0 -v ./internal/model

fuzz: ## each fuzz target for D=30s
	@scripts/fuzz.sh $(D)

mutants: ## takes out each mechanism in turn; its test must fail (SAMPLE=n, SEED=n, CHECK=1, ONLY=<patches>)
	@$(with-redis); scripts/mutants.sh $(ONLY)

cover: ## how much of each public package its own tests reach, and whether that is enough
	@$(with-redis); \
	go test -count=1 -parallel=$(PARALLEL) -timeout=$(TIMEOUT) -coverprofile=coverage.out $(COVERED) | tee coverage.txt; \
	awk -v least=$(COVERAGE) -v rooms=$(words $(COVERED)) ' \
		match($$0, /coverage: [0-9.]+%/) { \
			seen++; \
			if (substr($$0, RSTART + 10, RLENGTH - 11) + 0 < least) { low++; print "below " least " %: " $$0 } \
		} \
		END { \
			if (seen != rooms) print "coverage of " seen + 0 " packages was told, " rooms " were asked"; \
			exit low > 0 || seen != rooms \
		}' coverage.txt

lint: $(GOLANGCI) ## golangci-lint, with the rules of .golangci.yml (PKG=./… for a part)
	@$(GOLANGCI) run $(PKG)

# The benchmarks are a module of their own, so that users of the library do not get
# the modules of its peers. ARGS go to its command: make bench ARGS="-rounds 7".
define run-bench
$(with-redis); cd bench; java/prepare.sh || true; go build -o ../.cache/bin/bench .; ../.cache/bin/bench
endef

bench: ## measures rlock beside its peers: every table, half an hour (ARGS="-rows … -peers … -rounds n")
	@$(run-bench) run $(ARGS)

bench-check: ## the short form: fails and names the row when a bar is missed by more than 15 %
	@$(run-bench) check $(ARGS)

bench-scale: ## cost of one operation over 1 to 4,096 goroutines, 100,000 names, 2,000 waiters
	@$(run-bench) scale $(ARGS)

bench-test: $(GOLANGCI) ## tests and lint of the benchmarks' own module
	@$(with-redis); cd bench; go vet ./...; go test -count=1 ./...; ../$(GOLANGCI) run ./...

bench-plots: ## draws what bench and bench-scale found into docs/performance
	@cd bench && go run . plots $(ARGS)

# Built once per version; that takes some minutes.
$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once" >&2
	@mkdir -p $(@D)/new
	@GOBIN=$(CURDIR)/$(@D)/new go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(@D)/new/golangci-lint $@ && rmdir $(@D)/new
