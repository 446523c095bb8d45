#!/usr/bin/env bash
# Makes the files of a release in dist/: for each platform the binary and its bill of materials (CycloneDX), and the
# hashes of all. Each binary is built twice, in two clones, the second with a cache of its own, and both must be the
# same bytes: whoever has the commit and the same Go can check what he was given.
#
#   deploy/release/release.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1

if test -n "$(git status --porcelain)"; then
	echo "A release is made of a commit, and there are changes beside it:" >&2
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

# build CLONE ARCHITECTURE OUTPUT: no C library, no path of this machine, the commit, and nothing that differs between
# builds.
build() {
	(cd "$1" && GOFLAGS='' GOWORK=off CGO_ENABLED=0 GOOS=linux GOARCH=$2 GOAMD64=v1 GOARM64=v8.0 \
		go build -trimpath -buildvcs=true -ldflags "-s -w -buildid= -X main.version=$version" -o "$3" ./cmd/listfacade)
}

for architecture in amd64 arm64; do
	name=listfacade-linux-$architecture
	echo "building $name twice ..."
	build "$work/first" "$architecture" "$dist/$name"
	GOCACHE=$work/cache build "$work/second/clone" "$architecture" "$work/$name"
	cmp "$dist/$name" "$work/$name" || { echo "two builds of $name differ" >&2; exit 1; }
	GOFLAGS='' go -C deploy/release tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" \
		-output "$dist/$name.cdx.json" "$dist/$name" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
done
cd dist
sha256sum -- * | tee SHA256SUMS
