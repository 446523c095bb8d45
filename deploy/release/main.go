package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

type release struct {
	root, dist string // directory of the repository; directory of the binaries and of all written files
	version    string
	commit     string
	time       time.Time // of the commit
	registry   string    // host and path, without a slash at the end; may be empty
	source     string    // URL of the repository's files, without a slash at the end; may be empty
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var r release
	var seconds int64
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.root, "root", "../..", "`directory` of the repository")
	flags.StringVar(&r.dist, "dist", "../../dist", "`directory` of the binaries, and of the written files")
	flags.StringVar(&r.version, "version", "devel", "version of the release")
	flags.StringVar(&r.commit, "commit", "", "hash of the commit")
	flags.Int64Var(&seconds, "time", 0, "time of the commit, in `seconds` since 1970")
	flags.StringVar(&r.registry, "registry", "", "host and path of the registry for the image; empty for none")
	flags.StringVar(&r.source, "source", "", "`URL` of the repository's files, for links to docs; empty for none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.time = time.Unix(seconds, 0).UTC()
	if err := r.validate(); err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "":
		return r.write()
	case "push":
		return r.push()
	}
	return fmt.Errorf("unknown command %q: want none, or push", flags.Arg(0))
}

var registryName = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:-]*(/[a-z0-9._-]+)*$`)

func (r release) validate() error {
	switch {
	case r.registry != "" && !registryName.MatchString(r.registry):
		return fmt.Errorf("-registry %q: must be a host with an optional path, such as registry.example.com/platform", r.registry)
	case strings.HasSuffix(r.source, "/"):
		return fmt.Errorf("-source %q: must not end with a slash", r.source)
	case r.version == "":
		return errors.New("-version is empty")
	}
	return nil
}

func (r release) write() error {
	digest, err := r.writeImage()
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if err := r.checkImage(); err != nil {
		return fmt.Errorf("check the image: %w", err)
	}
	if err := r.writeChart(digest); err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	if err := r.writeManifests(digest); err != nil {
		return fmt.Errorf("write install.yaml: %w", err)
	}
	return nil
}

func (r release) imageName() string {
	if r.registry == "" {
		return "listfacade"
	}
	return r.registry + "/listfacade"
}

// imageTag returns the version as a tag. A tag must not contain +.
func (r release) imageTag() string { return strings.ReplaceAll(r.version, "+", "_") }

func (r release) path(name string) string { return filepath.Join(r.dist, name) }
