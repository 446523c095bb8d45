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
		Short: "Succeed when the server answers 200: the health check of containers without a shell",
		Args:  cobra.ExactArgs(1),
	}
	flags := command.Flags()
	flags.StringVar(&caFile, "ca-file", "", "the authority of the server's certificate")
	flags.StringVar(&pair.CertFile, "cert-file", "", "the certificate to show (default: none)")
	flags.StringVar(&pair.KeyFile, "key-file", "", "its private key")
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
