// Command client-go-0.37 is an informer of client-go 0.37.
package main

import "github.com/listfacade/listfacade/test/clients/informer"

func main() { informer.Main() }
