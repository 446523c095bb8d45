// Command client-go-0.22 is an informer of client-go 0.22.
package main

import "github.com/listfacade/listfacade/test/clients/informer"

func main() { informer.Main() }
