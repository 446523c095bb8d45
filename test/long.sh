#!/usr/bin/env bash
# Runs every test of the repository, then those of callers with a TokenReview for each token, then the suites that
# compare with kube-apiserver once without packing and once with the smallest budgets, then those of callers with each
# other --authorization-extras. Prints one table of suites, times and results. It continues after a failure and fails at
# the end.
set -uo pipefail
cd "$(dirname "$0")/.."
compared=(./test/questions ./test/lists ./test/watches ./test/informers ./test/faults ./test/soak)

stage() { # stage NAME ARGUMENTS-OF-GO-TEST...
	echo "{\"Stage\": \"$1\"}"
	test/race.sh -json -count=1 -p 3 -parallel 4 -timeout 60m "${@:2}"
}

mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/tally ./internal/testkit/tally || exit
{
	stage everything ./...
	for module in client devcluster deploy/release; do
		(cd $module && CGO_ENABLED=0 GOFLAGS=$QUICK_FLAGS go test -json -vet=off -count=1 ./...)
	done
	LISTFACADE_TOKENS=review stage "reviewed tokens" ./test/identities ./test/revocation
	LISTFACADE_PACK=off stage "packing off" "${compared[@]}"
	LISTFACADE_BUDGETS=smallest stage "smallest budgets" "${compared[@]}"
	for extras in consider ignore; do
		LISTFACADE_EXTRAS=$extras stage "extras: $extras" ./test/identities ./test/revocation
	done
} | bin/tally
