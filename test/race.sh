#!/usr/bin/env bash
# Runs go test with the race detector and the flags that all targets of the Makefile share, so that no package is
# compiled twice. Arguments are passed to go test.
#
# The listed packages are compiled without the race detector, because they compute and share no memory. With it, a suite
# spent a third of its CPU in zstd, and a twentieth in io.ReadAll. A listed package must not use sync/atomic: the race
# detector ignores the order that atomics establish there. It would report false races for encoding/json and crypto/tls.
# Without debug information, sixty test binaries are compiled and linked a third faster. With -trimpath, another checkout
# reuses them. vet runs in the linter.
computing=(github.com/klauspost/compress/... compress/... hash/... crypto/internal/... golang.org/x/net/http2/hpack io)

flags=(-trimpath '-gcflags=all=-dwarf=false')
for packages in "${computing[@]}"; do
	flags+=("-gcflags=$packages=-dwarf=false -race=false")
done
export LISTFACADE_VERIFY=1
# The race detector would wait for a second at the end of each of forty test binaries, for races of goroutines that
# still run. Few binaries leave any: most fail if a goroutine is left.
export GORACE=${GORACE:-atexit_sleep_ms=0}
exec go test -race -vet=off '-ldflags=-s -w' "${flags[@]}" "$@"
