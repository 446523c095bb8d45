#!/usr/bin/env bash
# Runs go test with the race detector, with the flags that all targets of the Makefile share, so that nothing is
# compiled twice. Arguments are passed on to go test.
#
# The race detector does not look into packages that compute and share nothing: in zstd alone it spent a third of the
# CPU of a suite. Without symbols for a debugger, test binaries are linked a third faster. vet runs in the linter.
export LISTFACADE_VERIFY=1
exec go test -race -vet=off '-ldflags=-s -w' \
	-gcflags=github.com/klauspost/compress/...=-race=false -gcflags=compress/...=-race=false \
	-gcflags=hash/...=-race=false -gcflags=crypto/internal/...=-race=false \
	-gcflags=golang.org/x/net/http2/hpack=-race=false "$@"
