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
		Short: "Give the users of a running cluster their rights, and the cluster a few objects",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfigs, "kubeconfigs", "", "directory with the users' kubeconfigs, as made by certs")
	flags.BoolVar(&demo, "demo", false, "create a few objects")
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
		fmt.Fprintln(command.OutOrStdout(), "the objects are there")
		return nil
	}
	return command
}
