package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The certificate authorities whose keys a cluster has.
const (
	ClientCA     = "ca"             // signs certificates of users
	FrontProxyCA = "front-proxy-ca" // signs certificates of front proxies
)

// FrontProxyName is the only common name of accepted front proxies.
const FrontProxyName = "front-proxy-client"

// Authority signs certificates. Its methods may be called from any goroutine.
type Authority struct {
	certificate *x509.Certificate
	key         any
}

// Certificate describes a client certificate. Empty fields have values of a valid user certificate.
type Certificate struct {
	User   string   // the common name
	Groups []string // the organizations
	// Subject is the complete subject as DER. It replaces User and Groups.
	Subject []byte
	From    time.Time
	Until   time.Time          // default: in one hour
	Usages  []x509.ExtKeyUsage // default: client authentication
	// Hosts are the DNS names of a server certificate.
	Hosts []string
	// IsAuthority creates an intermediate authority, for AuthorityOf.
	IsAuthority bool
}

// KeyPair is a certificate and its private key, both PEM. CertData may also contain certificates of intermediate
// authorities.
type KeyPair struct{ CertData, KeyData []byte }

// Authority returns an authority that servers of the cluster trust: ClientCA or FrontProxyCA.
func (c *Cluster) Authority(t testing.TB, name string) *Authority {
	t.Helper()
	files, ok := c.Authorities[name]
	if !ok {
		t.Fatalf("the devcluster has no authority %q", name)
	}
	pair, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{certificate: pair.Leaf, key: pair.PrivateKey}
}

// NewAuthority creates an authority that no server trusts yet.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key := newKey(t)
	template := Certificate{User: name, IsAuthority: true}.template(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{certificate: certificate, key: key}
}

// AuthorityOf returns an authority with the key of an intermediate authority's pair.
func AuthorityOf(t testing.TB, pair KeyPair) *Authority {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{certificate: loaded.Leaf, key: loaded.PrivateKey}
}

// CertData returns the authority's own certificate as PEM.
func (a *Authority) CertData() []byte { return encodePEM("CERTIFICATE", a.certificate.Raw) }

// Certify creates a key and signs a certificate for it.
func (a *Authority) Certify(t testing.TB, c Certificate) KeyPair {
	t.Helper()
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, c.template(t), a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return KeyPair{CertData: encodePEM("CERTIFICATE", der), KeyData: encodePEM("PRIVATE KEY", private)}
}

// ConfigWith returns a client configuration with a certificate, for kube-apiserver. For a facade the caller changes
// Host and, if the facade's certificate has another authority, CAFile.
func (c *Cluster) ConfigWith(pair KeyPair) *rest.Config {
	return &rest.Config{Host: c.Server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAFile: c.CAFile, CertData: pair.CertData, KeyData: pair.KeyData,
	}}
}

// ConfigOf returns a client configuration with a new certificate of a user and groups.
func (c *Cluster) ConfigOf(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	return c.ConfigWith(c.Authority(t, ClientCA).Certify(t, Certificate{User: user, Groups: groups}))
}

func (c Certificate) template(t testing.TB) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: c.User, Organization: c.Groups}, RawSubject: c.Subject,
		NotBefore: c.From, NotAfter: c.Until, ExtKeyUsage: c.Usages, DNSNames: c.Hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	if c.Until.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if c.From.IsZero() {
		template.NotBefore = template.NotAfter.Add(-2 * time.Hour)
	}
	if c.IsAuthority {
		template.IsCA, template.KeyUsage = true, template.KeyUsage|x509.KeyUsageCertSign
	} else if c.Usages == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	return template
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
