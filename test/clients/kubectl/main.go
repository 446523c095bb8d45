// Command kubectl is kubectl with the module client, which sends kubectl's reads to a facade. In the environment,
// LISTFACADE_URL is the URL of the facade, and LISTFACADE_CA_FILE is the file with the facade's CA certificates.
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
