# Everything a developer runs. `make help` lists it. Needs Go and make; the rest is built or fetched through Go's modules.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
BIN := bin
DIST := dist
ARCH ?= arm64
CONSOLE := cmd/joiner/console/ui
BROWSER := testenv/test/console/browser
CDK := infra/cdk/node_modules/.bin/cdk
FUNCTIONS := provision interruption catalog disrupt webhook
MODULE := github.com/joiner-sh/joiner
# A module of its own, whose packages ./... leaves out.
LOCAL := $(MODULE)/testenv/local
# The version that programs and stacks say they are: the same for everybody who builds a commit. A tree without git is "dev".
ifndef VERSION
VERSION := $(or $(if $(wildcard .git),$(shell git describe --always --tags --abbrev=12 --dirty 2>/dev/null)),dev)
endif
LDFLAGS := -s -w -buildid= -X $(MODULE)/shared/boot.version=$(VERSION)
# Functions are fetched before a cold start: others' code in them is compiled for size (nothing inlined), and so is ours that waits for
# answers; the planner and what else computes, and Go's own, for speed.
SMALL := -gcflags=all=-l -gcflags=std= -gcflags=$(MODULE)/...= -gcflags=$(MODULE)/shared/adapter/...=-l -gcflags=$(MODULE)/shared/flow/...=-l -gcflags=$(MODULE)/shared/boot/...=-l -gcflags=$(MODULE)/shared/work/...=-l
export CGO_ENABLED ?= 0

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

up: ## run the main job on this machine until Ctrl-C; ONCE=1: until the pods run, then a line of JSON
	@$(GO) run ./testenv/test/up $(if $(ONCE),-once,) $(UPFLAGS)

down: ## end a `make up` left behind and remove what it kept
	@$(GO) run ./testenv/test/up -down

test: ## everything that must pass: all packages, the short form of every slow suite included
	@$(BROWSER)/install.sh || echo "the console is NOT tried in a browser: its tests are skipped"
	GO="$(GO)" testenv/test.sh

race: ## all packages under the race detector (needs a C compiler; two hours on two cores); RACE="./shared/..." picks some
	CGO_ENABLED=1 $(GO) test -race -p 2 -timeout 120m \
		$(or $(RACE),$$($(GO) list ./... $(LOCAL)/... | grep -v '/testenv/sim$$'))
	$(if $(RACE),,@mkdir -p $(BIN) && CGO_ENABLED=1 $(GO) test -race -c -o $(BIN)/sim.race ./testenv/sim && cd testenv/sim && \
		../../$(BIN)/sim.race -test.list Test | GOGC=50 xargs -P 2 -I{} sh -c \
		'echo {}; ../../$(BIN)/sim.race -test.run "^{}$$" -test.timeout 60m || exit 255') # in one process: 22 GiB; the largest takes 13
	$(if $(RACE),,@for module in tools infra/cdk testenv/bench/oracle testenv/test/dashboard testenv/bench/upstream testenv/bench/upstream/e2e; do \
		(cd $$module && CGO_ENABLED=1 $(GO) test -race -short ./...) || exit 1; done)

timed: ## tests that measure by the wall clock, and fail over it: on a machine that does nothing else
	JOINER_TIMED=1 $(GO) test -p 1 -count=1 -timeout 60m $$($(GO) list -f '{{range .TestImports}}{{if eq . "$(MODULE)/testenv/test/timed"}}{{$$.ImportPath}} {{end}}{{end}}{{range .XTestImports}}{{if eq . "$(MODULE)/testenv/test/timed"}}{{$$.ImportPath}} {{end}}{{end}}' ./...)

matrix: ## the short end-to-end form on Kubernetes' newest minor, the one before it and the oldest that is supported (MINORS), each built the first time (ten minutes); docs/compatibility.md says what ran
	@for minor in $(or $(MINORS),1.37 1.36 1.30); do \
		echo "== Kubernetes $$minor"; \
		JOINER_KUBERNETES=$$minor $(GO) test -timeout 50m -count=1 -p 1 $(LOCAL)/kube $(LOCAL)/machine ./testenv/test/nodes ./testenv/test/stack ./testenv/test/e2e || exit 1; \
	done

e2e: ## the long form: every end-to-end scenario on real parts, one of them for an hour (about three hours); RUN=TestK1 picks some
	JOINER_E2E=full $(GO) test -timeout 240m $(if $(RUN),-run '$(RUN)') -count=1 -v ./testenv/test/e2e/...

proof-long: ## `joiner proof` killed after each of its calls, with every probe, and cleaned up by a second run
	JOINER_PROOF=long $(GO) test -timeout 120m -count=1 -v -run TestARunKilledAnywhere ./testenv/test/proof

redteam: ## attacks on a cluster by the keys of another one's watcher, and by who administers another account, against the whole stack with the templates' policies in force
	JOINER_E2E=full $(GO) test -timeout 40m -count=1 -v -run 'TestRedteam|TestW[0-9]' ./testenv/test/e2e/...

conform: synth-lint ## what synth-lint does, the contract suites against our model of AWS, moto (PyPI) and DynamoDB Local (Maven Central), and policies against another evaluator (npm), installed into .cache
	./testenv/test/conform/run.sh

readings: ## the suites where AWS's documentation is read the other way: every doubt at once, and one by one (about an hour)
	GO="$(GO)" testenv/readings.sh

oracle: ## plans of what Karpenter's unit specs ask for and of 10,000 random problems, 2,000 clusters to disrupt nodes of, 2,000 whose pods are spread and twelve of the benchmarks', 10,000 claims for devices, and 1,000,000 pairs of pod and node, judged by the real kube-scheduler
	cd testenv/bench/oracle && $(GO) run ./run $(ORACLEFLAGS)

referee: ## what we say to AWS beside Karpenter's own AWS provider, and what each may do by the other's policies, under both readings of AWS: testenv/bench/referee/DIFFERENCES.md has all that differs
	cd testenv/bench/referee && $(GO) test -count=1 -v . | grep -vE '^(=== |    --- PASS)'
	cd testenv/bench/referee && JOINER_READINGS=$(OTHERWISE) $(GO) test -count=1 -v -run 'TestA62(Launches|Karpenter|What)' . | grep -vE '^(=== |    --- PASS)'

handover: ## a cluster that Karpenter's own controller runs is taken over and handed back, twice, and nothing is replaced (ten minutes, and five to build the controller)
	cd testenv/bench/referee && $(GO) test -count=1 -v -timeout 40m ./handover

upstream-unit: ## Karpenter's own unit specs, unchanged, with `joiner plan` in its planner's place: testenv/bench/upstream/unit/DIFFERENCES.md has what comes of each; WRITE=1 writes it anew, UPSTREAMFLAGS="-quick -focus TEXT" looks at some without an API server
	cd testenv/bench/upstream && $(GO) run ./unit/cmd $(if $(WRITE),-write) $(UPSTREAMFLAGS)

upstream-performance: ## Upstream's suite of performance by Karpenter's own controller and by Joiner, in turn on this machine, into docs/upstream.md (hours); UPSTREAMFLAGS="-focus Basic" picks specs, "-performance 3" runs each three times
	cd testenv/bench/upstream/e2e && $(GO) run ./run -performance 1 $(UPSTREAMFLAGS)

upstream: ## Karpenter's own end-to-end suites, unchanged, against the stack of `make up`, each spec held against testenv/bench/upstream/e2e/specs.csv (hours); UPSTREAMFLAGS="-focus NodeClaim" picks some, "-shards 3" runs them on three stacks
	cd testenv/bench/upstream/e2e && $(GO) run ./run $(UPSTREAMFLAGS)

# The other readings of what AWS's documentation leaves open, but for delays: the clock of the referee's tests stands still.
OTHERWISE = all=other,eks-access-entry-lag=default,eks-cluster-lag=default,ec2-describe-lag=default,iam-policy-lag=default,iam-profile-lag=default,ec2-template-lag=default

day-one: ## the pages run as they are printed, by the real cdk, helm, kubectl and AWS CLI, against our model of AWS and a real control plane: from an empty account to the first pod, upgrade, removal, again (long; installs from npm and PyPI); RUN=TestA7 picks some
	JOINER_DAYONE=full $(GO) test -timeout 360m $(if $(RUN),-run '$(RUN)') -count=1 -v ./testenv/test/dayone/

sim: ## the control plane simulated under many seeds, every fault on: 90 s, or HOURS=500 simulated hours; SIMFLAGS="-seed 7 -trace" replays one
	$(GO) run ./testenv/sim/cmd $(if $(SIMFLAGS),$(SIMFLAGS),$(if $(HOURS),-hours $(HOURS),-seconds 90))

sim-campaign: ## 20,000 simulated hours (HOURS) of seeds of this commit's own, whatever breaks: about two hours of processor time; goes on where it was stopped
	$(GO) run ./testenv/sim/cmd -campaign $(if $(HOURS),-hours $(HOURS)) $(CAMPAIGNFLAGS)

sim-long: ## the long form of the simulator's tests: a thousand seeds twice, every effect and every recovery going wrong in every way
	JOINER_SIM=long $(GO) test -timeout 120m -count=1 -v ./testenv/sim/...

sim-all: ## everything a tiny world can do: two planners, three claims, two faults, two pauses, state by state
	$(GO) run ./testenv/sim/explore/cmd $(EXPLOREFLAGS)

sim-mutants: ## some hundred and eighty mistakes put into the flows one at a time: the simulator, or tests of their own, must notice all but one, which the resync mends
	$(GO) run ./testenv/sim/mutants $(MUTANTFLAGS)

bench: ## benchmarks, and how each figure of the design is met; BENCH=regexp picks some
	$(GO) test -timeout 60m -run '^$$' -bench '$(or $(BENCH),.)' -benchmem ./shared/... ./cmd/... ./testenv/bench/...

bench-peer: $(BIN)/peer $(BIN)/compare ## the same problems side by side with Karpenter's scheduler; COMPARE="--only bench --large" and the like
	$(BIN)/compare --peer $(BIN)/peer $(COMPARE)

bench-converge: $(BIN)/peer $(BIN)/compare ## clusters in which nodes are disrupted until none is left to disrupt, side by side with Karpenter's consolidation (half an hour); CONVERGE="--nodes 100 --seeds 1,2,3 --only underused" and the like
	$(BIN)/compare --peer $(BIN)/peer --consolidate $(CONVERGE)

$(BIN)/peer: FORCE
	@mkdir -p $(BIN)
	cd testenv/bench/peer && $(GO) build -o ../../../$@ .

$(BIN)/compare: FORCE
	@mkdir -p $(BIN)
	$(GO) build -o $@ ./testenv/bench/compare

fuzz: ## every fuzz test, FUZZTIME (default 10m) in all
	./testenv/fuzz.sh $(or $(FUZZTIME),10m)

check: $(BIN)/supply ## format, vet, golangci-lint, code that nothing calls, floors, structure, retired phrases, subjects of new commits, generated files unchanged, modules as go.sum has them, licenses as committed
	@tools/subjects.sh
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	GO="$(GO)" tools/lint.sh
	GO="$(GO)" tools/deadcode.sh
	cd infra/cdk && $(GO) vet ./...
	cd testenv/local && $(GO) vet ./...
	$(GO) test -run 'TestFloors|TestV11|TestStructure|TestWalks' ./testenv
	$(GO) mod verify
	cd tools && $(GO) mod verify
	cd tools/lint && $(GO) mod verify
	$(BIN)/supply licenses -check LICENSES.csv -npm $(CONSOLE)/package-lock.json ./functions/... ./cmd/...
	$(MAKE) --no-print-directory generated

structure: ## write testenv/structure.csv (what is beyond the limits of testenv/repository/structure) with lower values; HIGHER=1: with all values found, and says which are higher
	$(GO) run ./testenv/repository/structure/cmd $(if $(HIGHER),-write,-lower)

structure-report: ## how the code is put together, as Markdown: types, circles of files, imports, complexity, lines; BEFORE=COMMIT: beside that of a commit
	@$(GO) run ./testenv/repository/structure/cmd $(if $(BEFORE),-before $(BEFORE))

lint-all: ## golangci-lint and the search for code that nothing calls, also in the modules that contain Kubernetes' scheduler or Karpenter (minutes each)
	ALL=1 GO="$(GO)" tools/lint.sh
	ALL=1 GO="$(GO)" tools/deadcode.sh

synth: zips $(CDK) ## the CloudFormation templates of CLUSTER (default joiner-demo) and of its region into infra/cdk/cdk.out, with real zips; needs no network once npm has run
	cd infra/cdk && node_modules/.bin/cdk synth --quiet --no-notices -c architecture=$(if $(filter amd64,$(ARCH)),x86_64,$(ARCH)) -c cluster=$(or $(CLUSTER),joiner-demo)
	@ls -l infra/cdk/cdk.out/*.template.json

templates: ## write infra/cdk/templates anew: what tests and people read of the stacks
	cd infra/cdk && $(GO) run . templates templates

synth-lint: ## infra/cdk/templates checked by cfn-lint, checkov, parliament and cloudsplaining (PyPI), and what an upgrade to them would replace or delete (npm); installed into .cache
	./infra/cdk/referees/run.sh

$(CDK): infra/cdk/package-lock.json
	@command -v npm >/dev/null || { echo "npm is not on the PATH; install Node.js 22 or 24"; exit 1; }
	cd infra/cdk && npm ci --no-audit --no-fund
	@touch $@

$(BIN)/supply: FORCE
	cd tools && $(GO) build -o ../$@ ./supply

licenses: $(BIN)/supply ## write LICENSES.csv, the license of each module the shipped programs are built of; fails where one is not known to be compatible
	$(BIN)/supply licenses -npm $(CONSOLE)/package-lock.json ./functions/... ./cmd/... >$(BIN)/licenses.csv
	mv $(BIN)/licenses.csv LICENSES.csv

sbom: build $(BIN)/supply ## write dist/sbom.json, a CycloneDX bill of materials of what `make build` made
	$(BIN)/supply sbom -npm github.com/joiner-sh/joiner/cmd/joiner=$(CONSOLE)/package-lock.json $(FUNCTIONS:%=$(DIST)/arm64/%/bootstrap) $(FUNCTIONS:%=$(DIST)/amd64/%/bootstrap) $(BIN)/watcher $(BIN)/joiner >$(DIST)/sbom.json

vuln: ## vulnerabilities the shipped programs can reach; where the database (GOVULNDB) cannot be reached nothing is known, and tools/vuln.sh exits 75
	@GO="$(GO)" tools/vuln.sh

generated: ## regenerate CRDs, deep copies, the built-in catalog and docs/reference; fails where that changes anything
	$(GO) generate ./shared/api/... ./cmd/...
	$(GO) run ./testenv/repository/referencedoc docs/reference
	$(GO) run ./testenv/repository/paritydoc docs/reference
	@git diff --exit-code -- shared/api cmd/joiner/catalogfile infra/chart/files docs/reference || { echo "generated files differ from what is committed; commit them"; exit 1; }

console: $(CONSOLE)/node_modules ## build the page of `joiner console` into what is embedded (needs npm)
	cd $(CONSOLE) && npm run --silent check && npm run --silent build

console-check: $(CONSOLE)/node_modules ## the page's types, and that the embedded page is what its sources build to
	cd $(CONSOLE) && npm run --silent check && npm run --silent build -- --check

console-test: browser ## the page in Chromium: files by keys and pointer, the main job from pending to bound, a decision replayed
	JOINER_BROWSER=need $(GO) test -timeout 25m -count=1 -v ./testenv/test/console/

browser: ## install what console-test takes: Playwright and axe (npm) and, as root on Debian, chromium
	@$(BROWSER)/install.sh

console-bench: browser ## how soon the page shows 5,000 nodes, and how long frames take while they change; means something on a quiet machine
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/testcluster ./testenv/test/console/testcluster/serve
	$(BROWSER)/with-testcluster.sh $(BIN)/testcluster -nodes 5000 -story=false -shuffle 100 -- node $(BROWSER)/frames.mjs

console-shots: browser ## pictures of the page at 50 and 5,000 nodes into dist/console; those of the pages are of them, reduced to 96 colors
	@mkdir -p $(BIN) $(DIST)/console
	$(GO) build -o $(BIN)/testcluster ./testenv/test/console/testcluster/serve
	$(BROWSER)/with-testcluster.sh $(BIN)/testcluster -nodes 50 -- $(BROWSER)/with-testcluster.sh $(BIN)/testcluster -nodes 5000 -story=false -- node $(BROWSER)/shots.mjs $(DIST)/console

docs: ## build the site of docs into dist/docs (a few seconds); broken links fail; mkdocs-material (PyPI) and Mermaid (npm) are installed into .cache the first time
	@tools/docs/build.sh

docs-look: docs browser ## the site in Chromium: pictures into dist/docs-pictures; fails where a diagram is not drawn, the search finds nothing, or a page asks another host
	@mkdir -p $(DIST)/docs-pictures
	node $(BROWSER)/docs.mjs $(DIST)/docs $(DIST)/docs-pictures $(or $(PAGES),$(shell cd $(DIST)/docs 2>/dev/null && find . -name '*.html' ! -name 404.html | cut -c3- | sort))

$(CONSOLE)/node_modules: $(CONSOLE)/package-lock.json
	@command -v npm >/dev/null || { echo "npm is not on the PATH; install Node.js 22 or 24"; exit 1; }
	cd $(CONSOLE) && npm ci --no-audit --no-fund
	@touch $@

build: $(FUNCTIONS:%=$(DIST)/amd64/%.zip) $(FUNCTIONS:%=$(DIST)/arm64/%.zip) $(BIN)/watcher $(BIN)/joiner ## function zips for both architectures, the watcher and the command line

zips: $(FUNCTIONS:%=$(DIST)/$(ARCH)/%.zip) ## function zips for ARCH (arm64, amd64), which the stacks are made with

first-day: $(BIN)/joiner ## what to do first in an account of AWS (docs/first-day.md): `joiner preflight` and `joiner proof` with CLUSTER, for a dollar at most; PROOFFLAGS="--skip eks" and the like
	@test -n '$(CLUSTER)' || { echo 'say which cluster: make first-day CLUSTER=shop'; exit 2; }
	$(BIN)/joiner preflight '$(CLUSTER)' || echo 'preflight has findings, see above; the proof goes on'
	$(BIN)/joiner proof --yes --cluster '$(CLUSTER)' $(PROOFFLAGS)

version: ## the version that what is built says it is
	@echo '$(VERSION)'

sizes: $(foreach a,amd64 arm64,$(FUNCTIONS:%=$(DIST)/$(a)/%.zip) $(DIST)/$(a)/watcher $(DIST)/$(a)/joiner) ## how large each program is, for both architectures; fails where a function's zip is above 11.4 MB
	@cd tools && $(GO) run ./sizes -most 11400000 $(call sized,amd64) $(call sized,arm64)

sized = $(foreach f,$(FUNCTIONS),$(f)/$(1)=../$(DIST)/$(1)/$(f)/bootstrap,../$(DIST)/$(1)/$(f).zip) watcher/$(1)=../$(DIST)/$(1)/watcher joiner/$(1)=../$(DIST)/$(1)/joiner

cost: ## what the control plane costs a month, with the arithmetic: two clusters simulated for two days each (some minutes of CPU), docs/performance.md's tables written anew; COSTFLAGS=-recorded prices what was measured last
	@$(GO) run ./testenv/cost/cmd $(COSTFLAGS)

cost-long: ## days of an idle cluster are alike, which is why one stands for thirty (three days simulated, some minutes)
	JOINER_COST=long $(GO) test -timeout 60m -count=1 -v -run TestIdleDaysAreAlike ./testenv/cost

image: $(DIST)/amd64/watcher $(DIST)/arm64/watcher ## the watcher's image for both architectures, an OCI layout in dist/watcher; PUSH=REPOSITORY:TAG pushes it; prints the digest the chart wants
	@cd tools && $(GO) run ./image -out ../$(DIST)/watcher $(if $(PUSH),-push $(PUSH)) amd64=../$(DIST)/amd64/watcher arm64=../$(DIST)/arm64/watcher

preflight: $(BIN)/joiner ## what would make a deployment for CLUSTER fail, before it is made (`joiner preflight`), which fails this; what is to be looked at does not; PREFLIGHTFLAGS="-c relay=true" and the like
	@$(BIN)/joiner preflight $(or $(CLUSTER),$(error CLUSTER is not set: the name of the EKS cluster)) $(PREFLIGHTFLAGS) || [ $$? -eq 1 ]

prepare: $(CDK) ## what account and cluster need once (tools/prepare.sh): CDK's bootstrap stack, the add-on for Pod Identity, the role for spot, tags, a kubeconfig; for CLUSTER in AWS_REGION
	@CLUSTER=$(or $(CLUSTER),$(error CLUSTER is not set: the name of the EKS cluster)) tools/prepare.sh

deploy: zips $(CDK) ## the region's stack and the clusters' by the options of infra/cdk/cdk.json, CLUSTER and CDKFLAGS="-c relay=true" and the like; asks nothing: `cdk diff` shows what it would change
	cd infra/cdk && node_modules/.bin/cdk deploy --all --require-approval never $(if $(CLUSTER),-c cluster=$(CLUSTER)) -c architecture=$(if $(filter amd64,$(ARCH)),x86_64,$(ARCH)) $(CDKFLAGS)

ecr: $(DIST)/amd64/watcher $(DIST)/arm64/watcher ## the watcher's image into the account's own registry in AWS_REGION (tools/ecr.sh), and into dist/image.yaml what the chart wants to know of it
	@GO="$(GO)" tools/ecr.sh '$(VERSION)'

$(DIST)/%/watcher: FORCE
	@mkdir -p $(DIST)/$*
	GOOS=linux GOARCH=$* $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/watcher

$(DIST)/%/joiner: FORCE
	@mkdir -p $(DIST)/$*
	GOOS=linux GOARCH=$* $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/joiner

$(DIST)/%.zip: FORCE
	@mkdir -p $(DIST)/$*
	GOOS=linux GOARCH=$(firstword $(subst /, ,$*)) $(GO) build -trimpath -buildvcs=false -tags lambda.norpc $(SMALL) -ldflags '$(LDFLAGS)' -o $(DIST)/$*/bootstrap ./functions/$(notdir $*)
	$(GO) run -C tools ./zip $(abspath $(DIST)/$*/bootstrap $@)
	@echo '$(VERSION)' >$(dir $@)VERSION

$(BIN)/watcher: FORCE
	$(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/watcher

$(BIN)/joiner: FORCE
	$(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/joiner
	@ln -sf joiner $(BIN)/kubectl-joiner # a plugin of kubectl, on the PATH

clean: ## remove what was built here
	rm -rf $(BIN) $(DIST) .cache infra/cdk/cdk.out infra/cdk/node_modules $(CONSOLE)/node_modules $(BROWSER)/node_modules

FORCE:
.PHONY: lint-all structure structure-report docs docs-look preflight prepare deploy ecr first-day proof-long race timed help version console console-check console-test browser console-bench console-shots image zips synth templates synth-lint up down test e2e redteam day-one conform readings matrix oracle referee handover sim sim-campaign sim-long sim-all sim-mutants bench bench-peer bench-converge fuzz check sizes cost cost-long licenses sbom vuln generated build clean upstream-unit upstream upstream-performance FORCE
