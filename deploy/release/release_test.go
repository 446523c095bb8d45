package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// script prints the version as the facade does.
const script = "#!/bin/sh\necho listfacade v1.2.3\n"

// released returns a release in a directory of its own, with programs that are scripts.
func released(t *testing.T, set func(*release)) release {
	t.Helper()
	r := release{root: filepath.Join("..", ".."), dist: t.TempDir(), version: "v1.2.3", commit: "c0ffee", time: time.Unix(1_790_000_000, 0).UTC()}
	set(&r)
	for _, architecture := range architectures {
		binary := r.path("listfacade-linux-" + architecture)
		for file, text := range map[string]string{binary: script + "# " + architecture, binary + ".cdx.json": "{}"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.validate(); err != nil {
		t.Fatal(err)
	}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, r release, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Two releases of the same sources are identical.
func TestReleaseIsReproducible(t *testing.T) {
	first, second := released(t, func(*release) {}), released(t, func(*release) {})
	for _, name := range []string{imageFile, "listfacade-1.2.3.tgz", "install.yaml"} {
		if !bytes.Equal(read(t, first, name), read(t, second, name)) {
			t.Errorf("two files %s differ", name)
		}
	}
}

// A registry receives the image that install.yaml names by its digest. It has a program for each platform, in a file
// system with certificate authorities, and a user who is not root.
func TestPushedImageIsTheInstalledOne(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	r := released(t, func(r *release) { r.registry = strings.TrimPrefix(server.URL, "http://") + "/platform" })
	if err := r.push(); err != nil {
		t.Fatal(err)
	}
	_, image, _ := strings.Cut(string(read(t, r, "install.yaml")), "image: ")
	image, _, _ = strings.Cut(image, "\n")
	reference, err := name.ParseReference(strings.Replace(image, ":v1.2.3@", "@", 1))
	if err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	index, err := remote.Index(reference, remote.WithContext(context.Background()))
	if err != nil {
		t.Fatalf("%s: %v", image, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, architecture := range architectures {
		pulled, err := index.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := pulled.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != architecture || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.revision"] != r.commit {
			t.Errorf("got %s, user %s, labels %v", config.Architecture, config.Config.User, config.Config.Labels)
		}
		root := t.TempDir()
		content := mutate.Extract(pulled)
		if err := unpack(content, root); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]string{
			program: architecture, "etc/ssl/certs/ca-certificates.crt": "BEGIN CERTIFICATE", "usr/share/sbom/listfacade.cdx.json": "{}", "LICENSE": "Apache", "etc/passwd": "65532",
		} {
			data, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || !bytes.Contains(data, []byte(want)) {
				t.Errorf("got %s with %d bytes and error %v, want %q in it", file, len(data), err, want)
			}
		}
	}
}

// Without a registry no file names one. The names of versions fit helm and registries.
func TestNoAddressIsInvented(t *testing.T) {
	r := released(t, func(*release) {})
	if text := string(read(t, r, "install.yaml")); !strings.Contains(text, "image: listfacade:v1.2.3\n") || strings.Contains(text, "http://") {
		t.Error("got another image than listfacade:v1.2.3, or an address, in install.yaml")
	}
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-4-gabc": "1.2.3-4-gabc", "8e2a76c0": "0.0.0-g8e2a76c0", "8e2a76c0-dirty": "0.0.0-g8e2a76c0-dirty", "devel": "0.0.0-gdevel",
	} {
		if got := (release{version: version}).chartVersion(); got != want {
			t.Errorf("%s: got the chart version %s, want %s", version, got, want)
		}
	}
	for _, bad := range []release{{version: "v1", registry: "https://registry.example.com"}, {version: "v1", source: "https://a/"}, {}} {
		if err := bad.validate(); err == nil {
			t.Errorf("got no error for %+v", bad)
		}
	}
}

// A program that does not run, or is of another version, ends the release.
func TestReleaseRunsItsProgram(t *testing.T) {
	r := released(t, func(*release) {})
	r.version = "v1.2.4"
	if err := r.checkImage(); err == nil || !strings.Contains(err.Error(), "v1.2.4") {
		t.Errorf("got %v, want an error about the version", err)
	}
}
