package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/devcluster"
)

func newObjects() *cobra.Command {
	var kubeconfigs string
	var demo bool
	command := &cobra.Command{
		Use:   "objects",
		Short: "Create the users' permissions in a running cluster, and optionally a few demo objects",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfigs, "kubeconfigs", "",
		"directory with the users' kubeconfigs, as created by the command certs")
	flags.BoolVar(&demo, "demo", false, "create a few demo objects")
	_ = command.MarkFlagRequired("kubeconfigs") // fails only for a flag that does not exist
	command.RunE = func(command *cobra.Command, _ []string) error {
		paths := devcluster.KubeconfigPaths(kubeconfigs)
		if err := devcluster.GrantRights(command.Context(), paths); err != nil {
			return err
		}
		if demo {
			if err := devcluster.CreateDemo(command.Context(), paths[devcluster.Admin]); err != nil {
				return err
			}
		}
		fmt.Fprintln(command.OutOrStdout(), "created objects")
		return nil
	}
	return command
}
