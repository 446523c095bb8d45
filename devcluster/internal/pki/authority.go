package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// lifetime is the validity of all certificates. A compose volume may exist for longer than a day, but not for a year.
const lifetime = 365 * 24 * time.Hour

// backdate allows for clocks that are behind the clock of this machine.
const backdate = 5 * time.Minute

// Authority signs certificates. Its key is in memory only, unless WriteKey is called.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	certFile    string
}

// Pair contains the paths of a certificate and its private key, both PEM.
type Pair struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
}

// Subject is the identity and the usages of a certificate.
type Subject struct {
	CommonName    string
	Organizations []string // a Kubernetes user's groups
	Hosts         []string // DNS names and IP addresses of a server
	Usages        []x509.ExtKeyUsage
}

// NewAuthority creates an authority and writes its certificate to dir/name.crt.
func NewAuthority(dir, name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate of authority %s: %w", name, err)
	}
	a := &Authority{certificate: certificate, key: key, certFile: filepath.Join(dir, name+".crt")}
	return a, writeCertificate(a.certFile, der)
}

// CertFile returns the path of the authority's certificate.
func (a *Authority) CertFile() string { return a.certFile }

// WriteKey writes the authority's private key next to its certificate, so that another process can sign with it. It
// returns the paths of both files.
func (a *Authority) WriteKey() (Pair, error) {
	pair := Pair{CertFile: a.certFile, KeyFile: strings.TrimSuffix(a.certFile, ".crt") + ".key"}
	return pair, writePrivateKey(pair.KeyFile, a.key)
}

// Issue signs a new certificate and writes it and its key to dir/name.crt and dir/name.key.
func (a *Authority) Issue(dir, name string, subject Subject) (Pair, error) {
	pair := Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	template, err := newTemplate(pkix.Name{CommonName: subject.CommonName, Organization: subject.Organizations})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = subject.Usages
	template.IPAddresses, template.DNSNames = splitHosts(subject.Hosts)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign %s: %w", name, err)
	}
	if err := writeCertificate(pair.CertFile, der); err != nil {
		return Pair{}, err
	}
	return pair, writePrivateKey(pair.KeyFile, key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return key, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               subject,
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		BasicConstraintsValid: true,
	}, nil
}

func splitHosts(hosts []string) (addresses []net.IP, names []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, host)
		}
	}
	return addresses, names
}
