#!/usr/bin/env bash
# Runs go test with the race detector, with the flags that all targets of the Makefile share, so that nothing is
# compiled twice. Arguments are passed on to go test.
#
# The race detector does not look into packages that compute and share nothing: in zstd alone it spent a third of the
# CPU of a suite, and in io.ReadAll a twentieth. They may not use sync/atomic, which orders nothing for the race detector
# in a package that it does not look into: of encoding/json and crypto/tls it would report races that there are not.
# Without information for debuggers, sixty test binaries are compiled and linked a third faster; with -trimpath another
# checkout need not compile them again. vet runs in the linter.
computing=(github.com/klauspost/compress/... compress/... hash/... crypto/internal/... golang.org/x/net/http2/hpack io)

flags=(-trimpath '-gcflags=all=-dwarf=false')
for packages in "${computing[@]}"; do
	flags+=("-gcflags=$packages=-dwarf=false -race=false")
done
export LISTFACADE_VERIFY=1
exec go test -race -vet=off '-ldflags=-s -w' "${flags[@]}" "$@"
