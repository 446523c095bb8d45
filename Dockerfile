# syntax=docker/dockerfile:1

# This file builds two images:
#   listfacade  for production on your own base: the binary that `make release` writes to dist/, and its licence. The
#               release also has an image without a base (deploy/release)
#   demo        the facade and the control plane of docker-compose.yml, for trials only. It is compiled here from Go
#               modules that go.sum pins, so it runs the same programs as the tests
#
#   make release
#   docker buildx build --platform linux/amd64,linux/arm64 --tag listfacade .

# A base for static binaries: no C library, no shell, user 65532. A release names the base by its digest.
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM golang:1.26-bookworm AS source
ENV CGO_ENABLED=0
# A volume gets the owner of its mount point in the image, so these directories must exist.
RUN mkdir -p /empty

# etcd and kube-apiserver. The first build takes some minutes. Cache mounts make later builds fast.
FROM source AS control-plane
WORKDIR /src/devcluster
COPY devcluster/go.mod devcluster/go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY devcluster ./
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -o /out/devcluster ./cmd/devcluster && \
    /out/devcluster build --only etcd,kube-apiserver --bin-dir /out && rm /out/*.key /out/.lock

FROM source AS facade
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -ldflags "-s -w" -o /out/listfacade ./cmd/listfacade

FROM ${BASE} AS demo
# Copy the directory, not its files: etcd and kube-apiserver are links to one binary, and COPY follows named links.
COPY --from=control-plane /out/ /usr/local/bin/
COPY --from=facade /out/listfacade /usr/local/bin/
COPY --from=source --chown=65532:65532 /empty /pki
COPY --from=source --chown=65532:65532 /empty /var/lib/etcd

FROM ${BASE} AS listfacade
ARG TARGETARCH
COPY LICENSE /
COPY --chmod=755 dist/listfacade-linux-${TARGETARCH} /usr/local/bin/listfacade
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/listfacade"]
