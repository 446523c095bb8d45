package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

// cacheVariable is the environment variable with the default of --cache-dir.
const cacheVariable = "LISTFACADE_DEVCLUSTER_CACHE"

func newBuild() *cobra.Command {
	var o binaries.Options
	var names []string
	command := &cobra.Command{
		Use:   "build",
		Short: "Compile the missing programs of a cluster from their Go modules, and print the paths of all programs",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	addSourceFlags(flags, sourceFlags{&o.ModuleDir, &o.Release, &o.CacheDir})
	optimized := flags.Bool("optimized", false, optimizedUsage)
	flags.StringVar(&o.Dir, "bin-dir", "", "directory for the binaries, instead of the cache")
	flags.StringSliceVar(&names, "only", nil, fmt.Sprintf("programs to build (default all of %v)", binaries.All()))
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

const optimizedUsage = "compile the programs with the options of releases, for measurements; takes two thirds longer"

type sourceFlags struct{ moduleDir, release, cacheDir *string }

func addSourceFlags(flags *pflag.FlagSet, f sourceFlags) {
	flags.StringVar(f.moduleDir, "module-dir", "",
		"directory of the devcluster module (default: searched from the working directory upwards)")
	flags.StringVar(f.release, "release", "", "older release of Kubernetes for the servers, such as 1.30; "+
		"the directory releases of the module has the supported ones (default: the release in the module's go.mod)")
	flags.StringVar(f.cacheDir, "cache-dir", os.Getenv(cacheVariable), "directory for built programs "+
		"(default: $"+cacheVariable+", or else listfacade/devcluster in the user's cache directory)")
}
