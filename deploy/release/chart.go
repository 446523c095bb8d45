package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// chartDir is the directory of the chart. The archive contains the targets of its symbolic links.
const chartDir = "deploy/chart/listfacade"

var (
	semanticVersion = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)
	notInVersions   = regexp.MustCompile(`[^0-9A-Za-z-]+`)
)

// chartVersion returns the version of the chart, which must be a semantic version. Any other r.version becomes the
// suffix of 0.0.0.
func (r release) chartVersion() string {
	if found := semanticVersion.FindStringSubmatch(r.version); found != nil {
		return found[1]
	}
	return "0.0.0-g" + notInVersions.ReplaceAllString(r.version, "-")
}

// writeChart writes the archive that `helm install` accepts. Unlike helm package, it does not write the current time.
func (r release) writeChart(digest v1.Hash) error {
	files, err := r.chartFiles(filepath.Join(r.root, filepath.FromSlash(chartDir)), "listfacade")
	if err != nil {
		return err
	}
	for i, f := range files {
		switch f.name {
		case "listfacade/Chart.yaml":
			files[i].data, err = replaceAll(f.data, "version: 0.0.0-devel", "version: "+r.chartVersion(), "appVersion: devel", fmt.Sprintf("appVersion: %q", r.imageTag()))
		case "listfacade/values.yaml":
			set := []string{"  source: \"\"", fmt.Sprintf("  source: %q", r.source)}
			if r.registry != "" { // a digest is of no use for an image that nodes have loaded
				set = append(set, "  registry: \"\"", fmt.Sprintf("  registry: %q", r.registry), "  digest: \"\"", fmt.Sprintf("  digest: %q", digest))
			}
			files[i].data, err = replaceAll(f.data, set...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	content, err := r.tarOf(files)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out) // without a name and time
	if _, err := compressed.Write(content); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(r.path("listfacade-"+r.chartVersion()+".tgz"), out.Bytes(), 0o644)
}

// chartFiles returns the files of a directory, with names below the directory prefix. It follows symbolic links, and
// skips files that .helmignore names.
func (r release) chartFiles(dir, prefix string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, entry := range entries {
		source := filepath.Join(dir, entry.Name())
		info, err := os.Stat(source) // the target of a link
		if err != nil {
			return nil, err
		}
		switch {
		case r.ignored(entry.Name()):
		case info.IsDir():
			deeper, err := r.chartFiles(source, path.Join(prefix, entry.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, deeper...)
		default:
			data, err := os.ReadFile(source)
			if err != nil {
				return nil, err
			}
			files = append(files, file{path.Join(prefix, entry.Name()), 0o644, data})
		}
	}
	return files, nil
}

// ignored reports whether .helmignore names a file. Each line of this .helmignore is a pattern of names.
func (r release) ignored(name string) bool {
	patterns, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(chartDir), ".helmignore"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(patterns)) {
		if ok, _ := path.Match(strings.TrimSpace(line), name); ok {
			return true
		}
	}
	return false
}

// replaceAll replaces lines, given as pairs. It returns an error unless each line to replace occurs exactly once.
func replaceAll(data []byte, pairs ...string) ([]byte, error) {
	for i := 0; i < len(pairs); i += 2 {
		if n := bytes.Count(data, []byte("\n"+pairs[i]+"\n")); n != 1 {
			return nil, fmt.Errorf("got %d lines %q, want 1", n, pairs[i])
		}
		data = bytes.Replace(data, []byte("\n"+pairs[i]+"\n"), []byte("\n"+pairs[i+1]+"\n"), 1)
	}
	return data, nil
}
