package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// writeManifests writes install.yaml: the overlay authority, which needs no preparation, with the image of the release.
func (r release) writeManifests(digest v1.Hash) error {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // the namespace first
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(r.root, "deploy", "kubernetes", "overlays", "authority"))
	if err != nil {
		return err
	}
	text, err := built.AsYaml()
	if err != nil {
		return err
	}
	image := r.imageName() + ":" + r.imageTag()
	if r.registry != "" {
		image += "@" + digest.String()
	}
	const placeholder = "image: listfacade:devel\n"
	if n := bytes.Count(text, []byte(placeholder)); n != 1 {
		return fmt.Errorf("got %d lines with the image listfacade:devel, want 1", n)
	}
	text = bytes.Replace(text, []byte(placeholder), []byte("image: "+image+"\n"), 1)
	header := fmt.Sprintf("# listfacade %s: everything that a cluster needs.\n#\n#   kubectl apply --server-side -f install.yaml\n", r.version)
	return os.WriteFile(r.path("install.yaml"), append([]byte(header), text...), 0o644)
}
