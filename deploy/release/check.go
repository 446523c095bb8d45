package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// readImage unpacks the written layout into a directory, and returns its index of platforms.
func (r release) readImage(dir string) (v1.ImageIndex, error) {
	archive, err := os.Open(r.path(imageFile))
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	if err := unpack(archive, dir); err != nil {
		return nil, err
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("got %d images in the layout, want 1", len(manifest.Manifests))
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}

func unpack(archive io.Reader, dir string) error {
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		target := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, data, os.FileMode(header.Mode)); err != nil { //nolint:gosec // an archive of this program
			return err
		}
	}
}

// checkImage checks that the written layout has all platforms and no root user. On Linux, it also runs the program.
func (r release) checkImage() error {
	dir, err := os.MkdirTemp("", "listfacade-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := r.readImage(dir)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	var found []string
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		if descriptor.Platform == nil || descriptor.Platform.Architecture != config.Architecture || strings.HasPrefix(config.Config.User, "0") {
			return fmt.Errorf("platform %v differs from the configuration %s/%s, or the user %q is root", descriptor.Platform, config.OS, config.Architecture, config.Config.User)
		}
		found = append(found, config.Architecture)
		if config.Architecture == runtime.GOARCH && runtime.GOOS == "linux" {
			if err := r.runImage(image, filepath.Join(dir, "root")); err != nil {
				return err
			}
		}
	}
	if !slices.Equal(found, architectures) {
		return fmt.Errorf("got the platforms %v, want %v", found, architectures)
	}
	return nil
}

func (r release) runImage(image v1.Image, root string) error {
	content := mutate.Extract(image)
	defer content.Close()
	if err := unpack(content, root); err != nil {
		return err
	}
	out, err := exec.Command(filepath.Join(root, program), "version").CombinedOutput() //nolint:gosec,noctx // the program of the image
	if err != nil {
		return fmt.Errorf("run the image's program: %w\n%s", err, out)
	}
	if first, _, _ := bytes.Cut(out, []byte("\n")); string(first) != "listfacade "+r.version {
		return fmt.Errorf("the image's program prints %q, want version %s", first, r.version)
	}
	return nil
}

// push sends the image to the registry, with the credentials of Docker's configuration.
func (r release) push() error {
	if r.registry == "" {
		return errors.New("-registry is required")
	}
	dir, err := os.MkdirTemp("", "listfacade-push")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := r.readImage(dir)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(r.imageName() + ":" + r.imageTag())
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(tag, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	digest, err := index.Digest()
	if err == nil {
		fmt.Printf("%s@%s\n", r.imageName(), digest)
	}
	return err
}
