package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// architectures are the architectures of the image, all for Linux.
var architectures = []string{"amd64", "arm64"}

const (
	imageFile = "listfacade-image.tar"
	program   = "usr/local/bin/listfacade"
	// user is the user ID in deploy/kubernetes. The user has no home directory and no shell.
	user = 65532
)

type file struct {
	name string
	mode int64
	data []byte
}

// writeImage writes the OCI image layout as one file, and returns the digest of its index.
func (r release) writeImage() (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		image, err := r.image(architecture)
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	dir, err := os.MkdirTemp("", "listfacade-image")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(dir)
	tree, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := tree.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.imageTag(),
		"io.containerd.image.name":          r.imageName() + ":" + r.imageTag(), // for ctr and kind
	})); err != nil {
		return v1.Hash{}, err
	}
	return digest, r.pack(dir, r.path(imageFile))
}

// image returns the image of a platform: an empty base and one layer.
func (r release) image(architecture string) (v1.Image, error) {
	files, err := r.files(architecture)
	if err != nil {
		return nil, err
	}
	content, err := r.tarOf(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.time}, CreatedBy: "deploy/release", Comment: "listfacade " + r.version,
	}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", architecture, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/" + program}, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}, Labels: r.labels(),
	}
	return mutate.ConfigFile(image, config)
}

// labels returns the labels of the image, under the names that the OCI defines.
func (r release) labels() map[string]string {
	labels := map[string]string{
		"title": "listfacade", "description": "A read-only cache in front of kube-apiserver", "licenses": "Apache-2.0",
		"version": r.version, "revision": r.commit, "created": r.time.Format("2006-01-02T15:04:05Z07:00"), "source": r.source,
	}
	named := map[string]string{}
	for key, value := range labels {
		if value != "" {
			named["org.opencontainers.image."+key] = value
		}
	}
	return named
}

// files returns the files of a platform's image. The bill of materials is in the image, where scanners look for it.
func (r release) files(architecture string) ([]file, error) {
	binary := r.path("listfacade-linux-" + architecture)
	files := []file{
		{"etc/passwd", 0o644, fmt.Appendf(nil, "listfacade:x:%d:%d::/:/sbin/nologin\n", user, user)},
		{"etc/group", 0o644, fmt.Appendf(nil, "listfacade:x:%d:\n", user)},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
	}
	for _, source := range []struct {
		name string
		mode int64
		from string
	}{
		{"LICENSE", 0o644, filepath.Join(r.root, "LICENSE")}, {program, 0o755, binary},
		{"usr/share/sbom/listfacade.cdx.json", 0o644, binary + ".cdx.json"},
	} {
		data, err := os.ReadFile(source.from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{source.name, source.mode, data})
	}
	return files, nil
}

// authorities returns Mozilla's root certificates as PEM, except those that are trusted with constraints. A facade
// needs them only for servers with public certificates.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer accepts all bytes
		}
	}
	return all.Bytes()
}

// tarOf returns an archive of the files and their directories, in the order of their names, all owned by root.
func (r release) tarOf(files []file) ([]byte, error) {
	headers, content := map[string]*tar.Header{}, map[string][]byte{}
	for _, f := range files {
		headers[f.name] = &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time}
		content[f.name] = f.data
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			headers[dir+"/"] = &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: r.time}
		}
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, name := range sortedKeys(headers) {
		if err := archive.WriteHeader(headers[name]); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content[name]); err != nil {
			return nil, err
		}
	}
	err := archive.Close() // writes the end of the archive
	return out.Bytes(), err
}

func (r release) pack(dir, target string) error {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		files = append(files, file{filepath.ToSlash(relative), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	content, err := r.tarOf(files)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}

func sortedKeys[T any](all map[string]T) []string {
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
