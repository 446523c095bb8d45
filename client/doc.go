// Package client sends the reads of a client-go program to a listfacade, and all its other requests to kube-apiserver.
// It is a separate module, which needs only client-go 0.30 or later.
//
//	config, err := rest.InClusterConfig()
//	...
//	ca, err := os.ReadFile("/etc/listfacade/ca.crt")
//	...
//	config, err = client.WrapConfig(config, "https://listfacade.listfacade-system.svc", ca)
//
// This applies to everything that is made from the returned rest.Config: clients, informers, and the manager and
// HTTPClient of controller-runtime. For kubectl and its plugins, call WrapConfig in
// genericclioptions.ConfigFlags.WrapConfigFn.
//
// # Requests
//
//	GET, LIST, WATCH of a resource                            facade
//	/api, /apis, /openapi, /version                           facade
//	Secrets, Leases, metrics.k8s.io, *.metrics.k8s.io         kube-apiserver
//	subresources (log, exec, status, scale), upgrades         kube-apiserver
//	writes, impersonation, everything else                    kube-apiserver
//
// # Without a ready facade
//
// A GET of a single object or of a document goes to kube-apiserver if the connection to the facade fails, or if the
// facade answers 503. Such a GET costs kube-apiserver little, and client-go limits its rate (rest.Config.QPS). A LIST
// or WATCH never goes to kube-apiserver in this case, because all clients would list at once. Its caller receives the
// error of the connection, or the 503. client-go then retries: a request after the time in Retry-After, an informer
// after growing pauses. Meanwhile, an informer keeps its objects.
//
// A read that receives 429 does not go to kube-apiserver, because it exceeds a limit of the facade. A read that
// receives 501 goes to kube-apiserver: the facade does not cache the resource, and cannot forward the caller's client
// certificate. If the facade's certificate cannot be verified, every read that the facade should serve fails, because
// the configuration is wrong. The error says how to correct it. To a 401 of the facade, the package adds a warning,
// which client-go prints.
//
// # Credentials
//
// Both servers receive the same credentials: tokens and client certificates, also from plugins and after a rotation.
// Each server is verified with its own CA certificates only. A copy of the returned configuration may have other
// credentials. A copy with another Host sends all requests to that Host.
//
// The package starts no goroutine, except through net/http for connections.
package client
