// Command kubectl is kubectl whose configuration is split by the module client. The environment names the facade:
// LISTFACADE_URL, and its authorities, LISTFACADE_CA_FILE.
package main

import (
	"fmt"
	"os"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/listfacade/listfacade/client"
)

func main() {
	ca, err := os.ReadFile(os.Getenv("LISTFACADE_CA_FILE"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag()
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		split, err := client.WrapConfig(config, os.Getenv("LISTFACADE_URL"), ca)
		if err != nil { // ConfigFlags cannot return it
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return split
	}
	os.Exit(cli.Run(cmd.NewKubectlCommand(cmd.KubectlOptions{
		ConfigFlags: flags, IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})))
}
