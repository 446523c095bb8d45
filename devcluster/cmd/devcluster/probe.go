package main

import (
	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/devcluster/internal/pki"
	"github.com/listfacade/listfacade/devcluster/internal/probe"
)

func newProbe() *cobra.Command {
	var caFile string
	var pair pki.Pair
	command := &cobra.Command{
		Use:   "probe URL",
		Short: "Exit with 0 if the server responds with status 200; a health check for containers without a shell",
		Args:  cobra.ExactArgs(1),
	}
	flags := command.Flags()
	flags.StringVar(&caFile, "ca-file", "", "file with the CA certificate of the server")
	flags.StringVar(&pair.CertFile, "cert-file", "", "file with the client certificate (default: none)")
	flags.StringVar(&pair.KeyFile, "key-file", "", "file with the private key of the client certificate")
	command.MarkFlagsRequiredTogether("cert-file", "key-file")
	_ = command.MarkFlagRequired("ca-file") // fails only for a flag that does not exist
	command.RunE = func(command *cobra.Command, args []string) error {
		client, err := probe.NewClient(caFile, pair)
		if err != nil {
			return err
		}
		return client.Get(command.Context(), args[0])
	}
	return command
}
