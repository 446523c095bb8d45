package main

import (
	"crypto/x509"
	"errors"
)

// advice returns instructions for an error whose text contains none; "" for other errors.
func advice(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return "The server's certificate is not trusted. If the server is a facade that was installed with its own authority, get\n" +
			"the authority's certificate, and pass it with --certificate-authority:\n" +
			"  kubectl -n listfacade-system get configmap listfacade-authority -o 'jsonpath={.data.ca\\.crt}' > listfacade-ca.crt"
	case errors.As(err, &host):
		return "The server's certificate is for another name. Connect by a name of the certificate, or pass that name with\n" +
			"--tls-server-name, such as listfacade.listfacade-system.svc"
	}
	return ""
}
