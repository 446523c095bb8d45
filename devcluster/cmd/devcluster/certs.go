package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/devcluster"
)

type certsFlags struct {
	dir         string
	hosts       []string
	kubeconfigs map[string]string // server by directory
}

func newCerts() *cobra.Command {
	var f certsFlags
	command := &cobra.Command{
		Use:   "certs",
		Short: "Create certificates and kubeconfigs for servers that another tool starts",
		Long: "Create certificates and kubeconfigs for servers that another tool starts.\n" +
			"A directory that this command has already filled is not changed.",
		Args: cobra.NoArgs,
	}
	flags := command.Flags()
	flags.StringVar(&f.dir, "dir", "", "directory for the certificates")
	flags.StringSliceVar(&f.hosts, "host", nil, "names and addresses of the servers, in addition to localhost")
	flags.StringToStringVar(&f.kubeconfigs, "kubeconfigs", nil,
		"NAME=URL: create a directory NAME with a kubeconfig of every user for the server URL; may be repeated")
	_ = command.MarkFlagRequired("dir") // fails only for a flag that does not exist
	command.RunE = func(command *cobra.Command, _ []string) error { return f.run(command) }
	return command
}

func (f *certsFlags) run(command *cobra.Command) error {
	// run writes this file last. Without the file, run creates the certificates again, because they may be incomplete.
	complete := filepath.Join(f.dir, "complete")
	if _, err := os.Stat(complete); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	certificates, err := devcluster.MakeCertificates(f.dir, f.hosts)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.kubeconfigs)) {
		if _, err := certificates.WriteKubeconfigs(filepath.Join(f.dir, name), f.kubeconfigs[name]); err != nil {
			return err
		}
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		return fmt.Errorf("mark the certificates as complete: %w", err)
	}
	fmt.Fprintln(command.OutOrStdout(), "made certificates in", f.dir)
	return nil
}
