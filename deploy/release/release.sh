#!/usr/bin/env bash
# Writes the files of a release to dist/: for each platform the binary and its bill of materials (CycloneDX), the image,
# the chart and install.yaml (doc.go), and the hashes of all files. It builds everything twice, in two clones, the second
# with its own cache. Both builds must be identical, so that anyone with the commit and the same Go version can verify a
# release.
#
#   deploy/release/release.sh VERSION [REGISTRY [SOURCE]]
#
# REGISTRY is the host and path that the image is pushed to; without it the files name no registry. SOURCE is the URL of
# the repository's files, to which alerts link.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 registry=${2-} source=${3-}

if test -n "$(git status --porcelain)"; then
	echo "Cannot build a release: the working tree has uncommitted changes:" >&2
	git status --short >&2
	exit 1
fi
work=$(mktemp -d -t listfacade-release.XXXXXX)
trap 'rm -rf "$work"' EXIT
commit=$(git rev-parse HEAD)
seconds=$(git log -1 --format=%ct)
git clone --quiet . "$work/first/clone"
git clone --quiet . "$work/second/clone"
mkdir "$work/first/dist" "$work/second/dist" "$work/bin"

# build CLONE ARCHITECTURE OUTPUT builds a static, reproducible binary: with the commit, without local paths and build
# IDs.
build() {
	(cd "$1" && GOFLAGS='' GOWORK=off CGO_ENABLED=0 GOOS=linux GOARCH=$2 GOAMD64=v1 GOARM64=v8.0 \
		go build -trimpath -buildvcs=true -ldflags "-s -w -buildid= -X main.version=$version -X main.repository=$source" -o "$3" ./cmd/listfacade)
}

# materials BINARY writes its bill of materials.
materials() {
	GOFLAGS='' go -C deploy/release tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" \
		-output "$1.cdx.json" "$1" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
}

GOFLAGS='' CGO_ENABLED=0 go -C deploy/release build -o "$work/bin/release" .
for round in first second; do
	echo "Building everything, the $round time ..."
	dist=$work/$round/dist
	for architecture in amd64 arm64; do
		name=listfacade-linux-$architecture
		if test "$round" = second; then
			GOCACHE=$work/cache build "$work/second/clone" "$architecture" "$dist/$name"
		else
			build "$work/first/clone" "$architecture" "$dist/$name"
		fi
		materials "$dist/$name"
	done
	"$work/bin/release" -root "$work/$round/clone" -dist "$dist" -version "$version" -commit "$commit" -time "$seconds" \
		-registry "$registry" -source "$source"
done
diff -r "$work/first/dist" "$work/second/dist" || { echo "Two builds differ" >&2; exit 1; }
rm -rf dist
mv "$work/first/dist" dist
cd dist
sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
cat SHA256SUMS
