// Package client sends the reads of a client-go program to a listfacade, and its writes to kube-apiserver. It is a
// separate module. It needs client-go 0.30 or later, and nothing else.
//
//	config, err := rest.InClusterConfig()
//	...
//	ca, err := os.ReadFile("/etc/listfacade/ca.crt")
//	...
//	config, err = client.WrapConfig(config, "https://listfacade.listfacade-system.svc", ca)
//
// Everything that is made from the returned rest.Config is split: clients, informers, and the manager of
// controller-runtime with its HTTPClient. For kubectl and its plugins, call WrapConfig in
// genericclioptions.ConfigFlags.WrapConfigFn.
//
// # Requests
//
//	GET, LIST, WATCH of a resource                            facade
//	/api, /apis, /openapi, /version                           facade
//	Secrets, Leases, metrics.k8s.io, *.metrics.k8s.io         kube-apiserver
//	subresources (log, exec, status, scale), upgrades         kube-apiserver
//	writes, impersonation, all other paths                    kube-apiserver
//
// # Without a ready facade
//
// A GET of a single object or of a document goes to kube-apiserver if the connection to the facade fails, or if the
// facade answers 503. Such a GET costs kube-apiserver little, and client-go limits its rate (rest.Config.QPS). A LIST
// or WATCH never goes there, because all clients would list at once. Its caller receives the error of the connection,
// or the 503 or 429 with Retry-After. client-go then retries: a request after Retry-After, an informer after growing
// pauses. An informer keeps its objects meanwhile. A request that received 429 never goes to kube-apiserver, because
// the facade limits this caller.
//
// The facade answers 501 for a resource that it does not cache, if the caller has a client certificate, because it
// cannot forward the certificate. Any read that receives 501 goes to kube-apiserver. If the facade's certificate cannot
// be verified, every read that the facade should serve fails, because the configuration is wrong.
//
// # Credentials
//
// Both servers receive the same credentials: tokens and client certificates, also from plugins and after a rotation.
// Each server is verified against its own authorities only. Configurations that are copied from the returned one may
// have other credentials. A copy with another Host is not split.
//
// The package starts no goroutine, except through net/http for connections.
package client
