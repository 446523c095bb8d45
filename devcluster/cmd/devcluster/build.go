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
	addSourceFlags(flags, sourceFlags{&o.ModuleDir, &o.Release, &o.CacheDir})
	optimized := flags.Bool("optimized", false, optimizedUsage)
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
		if *optimized {
			o.Code = binaries.Optimized
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

// optimizedUsage is the help of --optimized.
const optimizedUsage = "compile the programs as releases are, for measurements; takes two thirds longer"

// sourceFlags are where the flags go that say what programs are built from and where they are kept.
type sourceFlags struct{ moduleDir, release, cacheDir *string }

func addSourceFlags(flags *pflag.FlagSet, f sourceFlags) {
	flags.StringVar(f.moduleDir, "module-dir", "", "directory of the devcluster module (default: looked for here and above)")
	flags.StringVar(f.release, "release", "", "the servers of an older release of Kubernetes, as 1.30; "+
		"directory releases of the module has those that there are (default: the one that the module pins)")
	flags.StringVar(f.cacheDir, "cache-dir", os.Getenv(cacheVariable), "where built programs are kept, "+
		"default also from $"+cacheVariable+" (default: listfacade/devcluster in the user's cache directory)")
}
