// Command client-go-0.34 is an informer of client-go 0.34.
package main

import "github.com/listfacade/listfacade/test/clients/informer"

func main() { informer.Main() }
