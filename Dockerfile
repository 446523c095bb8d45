# syntax=docker/dockerfile:1

# Two images come out of this file:
#   listfacade  the facade alone, for production (the last stage, so the default): the binary that `make release` left in
#               dist/ and its licence, nothing else
#   demo        the facade and the control plane of docker-compose.yml; for trying out only. It is compiled here, from Go
#               modules that go.sum pins, so it runs the very programs that the tests run
#
#   make release
#   docker buildx build --platform linux/amd64,linux/arm64 --tag listfacade .

# All that a static binary needs: no C library, no shell; the user is 65532. A release names the base by its digest.
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM golang:1.26-bookworm AS source
ENV CGO_ENABLED=0
# Mount points of volumes take over the owner of the directory in the image.
RUN mkdir -p /empty

# etcd and kube-apiserver. A cold build takes some minutes; the cache mounts make later ones quick.
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
# The directory and not its files: etcd and kube-apiserver are links to one binary, and a link that is named is followed.
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
