# The default target lists all targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The registry (host and path) of the image of a release, and the URL of the repository's files, to which alerts and the
# operator's page link. Empty: none. No file of a release names another address.
REGISTRY ?=
SOURCE   ?=
VERSION  := $(shell git describe --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 20s
PACKAGES ?= ./...
STRESS ?= 5
QUESTIONS ?= 20000
WORKLOADS ?= 200
SOAK ?= 1h
FAULTS ?= 2m
# An older release of Kubernetes for the upstream, such as 1.30; devcluster/releases has the supported ones.
UPSTREAM ?=
# Memory budgets of the facades in tests: "smallest", or empty for the defaults.
BUDGETS ?=
RELEASE   = $(if $(UPSTREAM),--release $(UPSTREAM))
# The seed of random tests: LISTFACADE_SEED, or a new one for each run. The targets print it.
RANDOM_SEED = seed=$${LISTFACADE_SEED:-$$((RANDOM * 32768 + RANDOM))}; echo "LISTFACADE_SEED=$$seed"; LISTFACADE_SEED=$$seed

# Flags of everything in this module that is compiled without the race detector, so that no package is compiled twice:
# the facade, tests of sequential packages, and the packages of the linter.
PLAIN = CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) -trimpath"

# Flags of the commands of other modules, the same as those of the devcluster's programs
# (devcluster/internal/binaries/build.go).
export QUICK_FLAGS = $(GOFLAGS) -trimpath '-gcflags=all=-l -dwarf=false' -gcflags=std= -gcflags=golang.org/x/net/...=-dwarf=false \
	-gcflags=google.golang.org/...=-dwarf=false -gcflags=k8s.io/apimachinery/...=-dwarf=false
QUICK = CGO_ENABLED=0 GOFLAGS="$$QUICK_FLAGS"

# Packages whose code and tests start no goroutine: the race detector finds nothing there and takes ten times as long. A
# test (internal/layering) checks that they start no goroutine.
SEQUENTIAL := ./bench/internal/dataset ./bench/internal/plot ./bench/internal/proc ./bench/internal/report \
	./bookmarks ./deploy/monitoring ./internal/divergence ./internal/layering ./internal/page \
	./internal/references ./internal/serviceaccount ./internal/testkit/settings ./internal/testkit/tally \
	./internal/timeline ./internal/top ./internal/transcode ./internal/verify ./internal/wire/jsonwire \
	./internal/wire/protowire ./internal/wire/scan ./internal/wire/table ./internal/zpages ./selectors
# Benchmarks are tested by make test only, as few changes concern them.
UNIT       := ./bookmarks ./cache ./cmd/... ./deploy/... ./handlers ./internal/... ./selectors

# concurrent PACKAGES lists those that are not in SEQUENTIAL. Suites come first, the longest ones before the others,
# because they often wait for servers. Unit tests then use the idle processors, also the longest ones first, so that
# all processors are in use until the end.
SUITES     := questions identities revocation split lists watches faults informers deploy abuse incidents chains audit page rights moved
FIRST      := $(SUITES:%=test/%) internal/auth internal/reflector cache handlers internal/facade internal/limit
space      := $() $()
concurrent = $$(all=$$(go list $(1)); for package in $(FIRST); do grep "/$$package$$" <<<"$$all"; done; \
	grep -vE '/($(subst $(space),|,$(strip $(SEQUENTIAL:./%=%) $(FIRST))))$$' <<<"$$all")

# Suites wait for servers and clients most of the time, so more packages and tests run in parallel than there are
# processors.
RACE := test/race.sh -count=1
WIDE := -p 3 -parallel 4 -timeout 30m

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## compile listfacade and the devcluster command into bin/
	@$(MAKE) --no-print-directory -j 2 listfacade modules
	cd devcluster && GOGC=400 $(QUICK) go build -o ../bin/ ./cmd/devcluster

.PHONY: listfacade
listfacade:
	GOGC=400 $(PLAIN) go build -ldflags "-X main.version=$(VERSION)" -o bin/ ./cmd/listfacade

# On a new machine, the devcluster's modules are downloaded while the facade is compiled.
.PHONY: modules
modules:
	@cd devcluster && go list -deps ./cmd/... k8s.io/kubernetes/cmd/kubectl >/dev/null

.PHONY: cluster
cluster: build ## compile etcd, kube-apiserver, kubectl and the rest from their modules (minutes, the first time); UPSTREAM=1.30: of that release
	bin/devcluster build --module-dir devcluster $(RELEASE)

# The programs of test/clients, each with its own version of client-go. make test uses only those of the newest version,
# whose packages the cluster's programs have, too. The first build of the others takes minutes.
NEWEST_CLIENTS := $(addprefix test/clients/,client-go-0.37 controller-runtime kubectl)
compile_clients = @set -e; for module in $(1); do \
		(cd $$module && $(QUICK) go build -o ../../../bin/ .); \
	done

.PHONY: client
client: ## compile the programs of test/clients with the newest client-go
	$(call compile_clients,$(NEWEST_CLIENTS))

.PHONY: clients
clients: ## compile all programs of test/clients, each with its own version of client-go (minutes, the first time)
	$(call compile_clients,$(sort $(wildcard test/clients/client-go-*) test/clients/prometheus $(NEWEST_CLIENTS)))
	cd test/clients/kube-state-metrics && $(QUICK) go build -o ../../../bin/ tool

.PHONY: chart
chart: ## compile the program that renders the chart for tests
	@cd test/deploy/chart && $(QUICK) go build -o ../../../bin/ .

.PHONY: helm
helm: ## compile helm, to try the chart (minutes, the first time)
	cd test/deploy/chart && $(QUICK) go build -o ../../../bin/ helm.sh/helm/v4/cmd/helm

.PHONY: run
run: cluster ## start a real cluster with Running pods and the facade in front of it, and print kubectl commands to try
	deploy/local/run.sh

.PHONY: unit
unit: ## run the tests that need no cluster (minutes)
	@$(MAKE) --no-print-directory -j 2 unit-concurrent unit-sequential

.PHONY: unit-sequential
unit-sequential:
	$(PLAIN) go test -vet=off -short -count=1 $(filter-out ./bench/%,$(SEQUENTIAL))

# The garbage of the linker and of tests is collected less often, which saves a twentieth of the CPU.
.PHONY: unit-concurrent
unit-concurrent: export GOGC = 400
unit-concurrent:
	$(RACE) -short $(WIDE) $(call concurrent,$(UNIT))
	cd devcluster && $(QUICK) go test -vet=off -count=1 ./internal/...
	cd client && $(QUICK) go test -vet=off -count=1 ./...

.PHONY: test-sequential
test-sequential:
	$(PLAIN) go test -vet=off -short -count=1 $(SEQUENTIAL)

.PHONY: test
test: cluster client chart ## what a change must pass: unit tests, and every suite against a real kube-apiserver, the longest parts left out
	@$(MAKE) --no-print-directory -j 2 test-concurrent test-others

# Tests of these targets use the compiled devcluster command.
test-concurrent test-long test-stress conformance soak faults: export LISTFACADE_DEVCLUSTER_BUILT = 1

.PHONY: test-concurrent
test-concurrent:
	$(RACE) -short $(WIDE) $(call concurrent,$(PACKAGES))

.PHONY: test-others
test-others: test-sequential
	cd devcluster && $(QUICK) go test -vet=off -short -count=1 ./...
	cd client && $(QUICK) go test -vet=off -count=1 ./...

.PHONY: test-long
test-long: cluster clients chart helm ## everything, also with smallest budgets and without packing, before a release (1.5 hours); prints a table
	test/long.sh

.PHONY: test-stress
test-stress: cluster client chart ## the packages of make test, STRESS times (default 5), next to two busy processes per processor; prints how often each test failed
	STRESS=$(STRESS) PACKAGES="$(call concurrent,$(PACKAGES))" test/stress.sh

# Tests of these targets read UPSTREAM and BUDGETS from the environment. Tests of other targets use the default release.
conformance soak: export LISTFACADE_UPSTREAM = $(UPSTREAM)
conformance soak: export LISTFACADE_BUDGETS = $(BUDGETS)

.PHONY: conformance
conformance: cluster ## questions and watched workloads made at random, to kube-apiserver and the facade, for 15 minutes at most; LISTFACADE_SEED replays; UPSTREAM=1.30: to that release, and test/faults; BUDGETS=smallest: nothing is kept that need not be
	@$(RANDOM_SEED) LISTFACADE_CONFORMANCE=$(QUESTIONS) LISTFACADE_WORKLOADS=$(WORKLOADS) \
		$(RACE) -timeout 15m -v -run '^TestConformance' ./test/questions ./test/watches
	$(if $(UPSTREAM),$(RACE) -parallel 4 -timeout 15m ./test/faults)

.PHONY: soak
soak: cluster ## the same, beside faults in random order, for as long as SOAK says (default 1h); LISTFACADE_SEED replays
	@$(RANDOM_SEED) LISTFACADE_SOAK=$(SOAK) \
		$(RACE) -p 3 -timeout 0 -v -run '^(TestConformance|TestFaultsAtRandom)' ./test/questions ./test/watches ./test/soak

.PHONY: faults
faults: cluster ## what happens to reviews of tokens and of rights, each for as long as FAULTS says (default 2m)
	LISTFACADE_FAULTS=$(FAULTS) $(RACE) -timeout 0 -v -run '^Test(Token|Access)ReviewFaults' ./test/revocation

.PHONY: lint
lint: ## golangci-lint, at a pinned version, and go vet of the other modules
	$(PLAIN) $(GOLANGCI) run ./...
	$(PLAIN) $(GOLANGCI) run --config .golangci.size.yml ./...
	@set -e; for module in client devcluster $(NEWEST_CLIENTS) test/deploy/chart deploy/release; do \
		(cd $$module && $(QUICK) go vet $$(go list ./... | grep -v /cmd/controlplane$$)); \
	done

.PHONY: hooks
hooks: ## install a hook that checks commit messages (CONTRIBUTING.md)
	git config core.hooksPath .githooks

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 20s)
	@set -e; for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: bench
bench: build ## the figures and plots of docs/benchmarks.md, side by side with kube-apiserver and a bare file server (20 minutes); BENCH has options, such as BENCH=-list
	bin/devcluster build --module-dir devcluster --optimized
	go run ./bench $(BENCH)

.PHONY: bench-million
bench-million: ## how a facade grows from 10,000 over 100,000 to 1,000,000 pods, in front of a simulated kube-apiserver (10 minutes, 5 GB of memory); BENCH has options, such as BENCH="-sizes 10000"
	go run ./bench -sizes 10000,100000,1000000 $(BENCH)

.PHONY: bench-nodes
bench-nodes: ## a facade with 100,000 watches of a node each, and when all of them connect again at once, in front of a simulated kube-apiserver (5 minutes, 8 GB of memory); BENCH has options, such as BENCH="-node-watches 5000 -updates 200"
	go run ./bench -node-watches 100000 $(BENCH)

.PHONY: screenshots
screenshots: cluster ## write the screenshots of the operator's page in docs/, with chromium
	LISTFACADE_SCREENSHOTS=$(CURDIR)/docs LISTFACADE_REQUIRE_CLIENTS=1 go test -count=1 -run '^TestPageWhileTheUpstreamIsDown$$' ./test/page

.PHONY: release
release: ## write the files of a release to dist/, built twice and compared (minutes); REGISTRY=HOST/PATH: of the image; SOURCE=URL: of docs
	deploy/release/release.sh "$(VERSION)" "$(REGISTRY)" "$(SOURCE)"

.PHONY: push
push: ## send the image of dist/ to REGISTRY, with the credentials of Docker's configuration
	go -C deploy/release run . -version "$(VERSION)" -registry "$(REGISTRY)" push

.PHONY: vulncheck
vulncheck: ## check for known vulnerabilities, by govulncheck at a pinned version; skipped if its database is not available
	.ci/vulncheck

.PHONY: clean
clean: ## remove build results (compiled cluster binaries stay in the user's cache)
	rm -rf bin dist listfacade-certs
