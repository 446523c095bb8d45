#!/usr/bin/env bash
# Runs the packages of PACKAGES as make test does, STRESS times, next to two busy processes per processor, and prints
# how often each test failed. Arguments are passed to go test, such as -run TestName.
set -uo pipefail
: "${STRESS:=5}" "${PACKAGES:=./...}"
cd "$(dirname "$0")/.."

busy=()
for ((i = 0; i < 2 * $(nproc); i++)); do
	while :; do :; done &
	busy+=("$!")
done
trap 'kill "${busy[@]}"' EXIT

mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/tally ./internal/testkit/tally || exit
for ((i = 0; i < STRESS; i++)); do
	# shellcheck disable=SC2086 # a list of packages
	test/race.sh -json -short -count=1 -p 3 -parallel 4 -timeout 60m "$@" $PACKAGES
done | bin/tally
