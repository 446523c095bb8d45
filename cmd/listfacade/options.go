package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/internal/facade"
)

// options are the flags of a facade, and the configuration that they and a configuration file set.
type options struct {
	config *facade.Config
	own    []flagGroup // flags that set config
	groups []flagGroup // own and the flag --config
	file   string
}

func newOptions(config *facade.Config) *options {
	s := &options{config: config, own: flagsOf(config)}
	s.groups = slices.Insert(slices.Clone(s.own), 0, configFlags(&s.file))
	return s
}

func (s *options) addTo(command *cobra.Command) {
	for _, group := range s.groups {
		command.Flags().AddFlagSet(group.flags)
	}
}

// configured returns a function that reads the configuration file, if there is one, and then calls run.
func (s *options) configured(run func(context.Context, io.Writer) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if s.file != "" {
			if err := readConfig(s.file, s.own, s.config); err != nil {
				return err
			}
		}
		return run(cmd.Context(), cmd.OutOrStdout())
	}
}
