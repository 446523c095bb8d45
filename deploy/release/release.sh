#!/usr/bin/env bash
# Writes the files of a release to dist/: for each platform the binary and its bill of materials (CycloneDX), and the
# hashes of all files. It builds each binary twice, in two clones, the second with its own cache. Both builds must be
# identical, so that anyone with the commit and the same Go version can verify a release.
#
#   deploy/release/release.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1

if test -n "$(git status --porcelain)"; then
	echo "Cannot build a release: the working tree has uncommitted changes:" >&2
	git status --short >&2
	exit 1
fi
work=$(mktemp -d -t listfacade-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
git clone --quiet . "$work/first"
git clone --quiet . "$work/second/clone"
rm -rf dist
mkdir dist
dist=$PWD/dist

# build CLONE ARCHITECTURE OUTPUT builds a static, reproducible binary: with the commit, without local paths and build
# IDs.
build() {
	(cd "$1" && GOFLAGS='' GOWORK=off CGO_ENABLED=0 GOOS=linux GOARCH=$2 GOAMD64=v1 GOARM64=v8.0 \
		go build -trimpath -buildvcs=true -ldflags "-s -w -buildid= -X main.version=$version" -o "$3" ./cmd/listfacade)
}

for architecture in amd64 arm64; do
	name=listfacade-linux-$architecture
	echo "Building $name twice ..."
	build "$work/first" "$architecture" "$dist/$name"
	GOCACHE=$work/cache build "$work/second/clone" "$architecture" "$work/$name"
	cmp "$dist/$name" "$work/$name" || { echo "Two builds of $name differ" >&2; exit 1; }
	GOFLAGS='' go -C deploy/release tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" \
		-output "$dist/$name.cdx.json" "$dist/$name" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
done
cd dist
sha256sum -- * | tee SHA256SUMS
