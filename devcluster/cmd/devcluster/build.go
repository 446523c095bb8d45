package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

// cacheVariable names the environment variable that is the default of --cache-dir.
const cacheVariable = "LISTFACADE_DEVCLUSTER_CACHE"

func newBuild() *cobra.Command {
	var o binaries.Options
	var names []string
	command := &cobra.Command{
		Use:   "build",
		Short: "Compile the programs of a cluster from their Go modules, those that are not there yet, and print their paths",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	addSourceFlags(flags, &o.ModuleDir, &o.CacheDir)
	flags.StringVar(&o.Dir, "bin-dir", "", "put the binaries exactly here instead of into the cache")
	flags.StringSliceVar(&names, "only", nil, fmt.Sprintf("which programs (default all of %v)", binaries.All()))
	command.RunE = func(command *cobra.Command, _ []string) error {
		for _, name := range names {
			program, err := binaries.Parse(name)
			if err != nil {
				return err
			}
			o.Programs = append(o.Programs, program)
		}
		o.Progress = os.Stderr
		paths, err := binaries.Build(command.Context(), o)
		if err != nil {
			return err
		}
		for _, program := range binaries.All() {
			if path, ok := paths[program]; ok {
				fmt.Fprintln(command.OutOrStdout(), path)
			}
		}
		return nil
	}
	return command
}

// addSourceFlags adds the flags that say where programs are built from and where they are kept.
func addSourceFlags(flags *pflag.FlagSet, moduleDir, cacheDir *string) {
	flags.StringVar(moduleDir, "module-dir", "", "directory of the devcluster module (default: looked for here and above)")
	flags.StringVar(cacheDir, "cache-dir", os.Getenv(cacheVariable), "where built programs are kept, "+
		"default also from $"+cacheVariable+" (default: listfacade/devcluster in the user's cache directory)")
}
