// Command client-go-0.37 is an informer of client-go 0.37. With two further arguments, the URL of a facade and a file
// with the facade's CA certificates, the module client sends the informer's reads to the facade.
package main

import (
	"os"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/client"
	"github.com/listfacade/listfacade/test/clients/informer"
)

func main() { informer.MainWith(split) }

func split(config *rest.Config) (*rest.Config, error) {
	if len(os.Args) < 6 {
		return config, nil
	}
	ca, err := os.ReadFile(os.Args[5])
	if err != nil {
		return nil, err
	}
	return client.WrapConfig(config, os.Args[4], ca)
}
