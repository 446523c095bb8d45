package facade

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// authorityFor is the validity of an authority. It is long: after an authority expires, clients must trust a new
	// one.
	authorityFor = 10 * 365 * 24 * time.Hour
	// issuedFor is the validity of a serving certificate, which is replaced after two thirds of this time.
	issuedFor = 90 * 24 * time.Hour
)

// loopback contains the only addresses that an authority can certify. kubectl port-forward listens on these.
var loopback = []net.IPNet{
	{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}, {IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
}

// Authority signs the serving certificates of all replicas and of the splitting proxy, so that clients trust one
// certificate. It can certify only the names of the Services listfacade and listfacade-split, and of the loopback
// interface. A stolen key is therefore of no use against other servers.
type Authority struct {
	cert  *x509.Certificate
	key   crypto.Signer
	names []string // names in the serving certificates
}

const (
	facadeService = "listfacade"
	splitService  = "listfacade-split"
)

// serviceNames returns the DNS names of a Service, from the longest to the shortest.
func serviceNames(service, namespace string) []string {
	service += "." + namespace
	return []string{service + ".svc.cluster.local", service + ".svc", service}
}

const localName = "localhost"

// NewAuthority returns the PEM of a new authority for the Services of a namespace.
func NewAuthority(namespace string) (cert, key []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	from := time.Now().Add(-clocksDiffer)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "listfacade-authority"}, NotBefore: from, NotAfter: from.Add(authorityFor),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
		MaxPathLenZero: true, PermittedDNSDomainsCritical: true, PermittedDNSDomains: slices.Concat(
			serviceNames(facadeService, namespace), serviceNames(splitService, namespace), []string{localName}),
	}
	for i := range loopback {
		template.PermittedIPRanges = append(template.PermittedIPRanges, &loopback[i])
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	if cert, err = certutil.EncodeCertificates(&x509.Certificate{Raw: raw}); err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(signer)
	return cert, key, err
}

// readAuthority parses the PEM of an authority that issues serving certificates for a Service. It returns an error if
// the authority has expired, does not belong to the key, or does not certify the Service.
func readAuthority(service string, cert, key []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("the certificate is not a CA certificate")
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("the authority expired at %s", pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	names := slices.DeleteFunc(slices.Clone(pair.Leaf.PermittedDNSDomains),
		func(name string) bool { return !strings.HasPrefix(name, service+".") })
	if len(names) == 0 {
		return nil, fmt.Errorf("the authority does not certify the Service %s", service)
	}
	return &Authority{cert: pair.Leaf, key: signer, names: append(names, localName)}, nil
}

// issue returns a new serving certificate with a new key, and with the authority's certificate in its chain.
func (a *Authority) issue() (*tls.Certificate, error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	from := time.Now().Add(-clocksDiffer)
	until := from.Add(issuedFor)
	if until.After(a.cert.NotAfter) {
		until = a.cert.NotAfter
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject: pkix.Name{CommonName: "listfacade"}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: a.names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, a.cert, own.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(raw)
	return &tls.Certificate{Certificate: [][]byte{raw, a.cert.Raw}, PrivateKey: own, Leaf: leaf}, err
}

func (a *Authority) renew(p *ServingPair) (changed bool, err error) {
	if now := p.now.Load(); now != nil {
		third := now.Leaf.NotAfter.Sub(now.Leaf.NotBefore) / 3
		if time.Until(now.Leaf.NotAfter) > third {
			return false, nil
		}
	}
	next, err := a.issue()
	if err != nil {
		return false, err
	}
	p.now.Store(next)
	return true, nil
}
