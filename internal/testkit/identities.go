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

// The authorities that a cluster keeps the keys of.
const (
	ClientCA     = "ca"             // users' certificates
	FrontProxyCA = "front-proxy-ca" // those of front proxies
)

// FrontProxyName is the one common name by which a front proxy is believed.
const FrontProxyName = "front-proxy-client"

// Authority signs certificates. Its methods may be called from any goroutine.
type Authority struct {
	certificate *x509.Certificate
	key         any
}

// Certificate says whom a client certificate identifies. What is left empty is as it is for any valid user.
type Certificate struct {
	User   string   // the common name
	Groups []string // the organizations
	// Subject is the whole subject as DER, in the place of User and Groups.
	Subject []byte
	From    time.Time
	Until   time.Time          // default: in an hour
	Usages  []x509.ExtKeyUsage // default: for clients
	// Hosts are the names of a server.
	Hosts []string
	// IsAuthority makes it an intermediate authority, which AuthorityOf can sign with.
	IsAuthority bool
}

// KeyPair is a certificate and its private key, both PEM. CertData may be followed by those of intermediate
// authorities.
type KeyPair struct{ CertData, KeyData []byte }

// Authority is one that servers of the cluster trust: ClientCA or FrontProxyCA.
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

// NewAuthority makes an authority that nobody trusts yet.
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

// AuthorityOf signs with the key of a pair that was certified as an authority.
func AuthorityOf(t testing.TB, pair KeyPair) *Authority {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{certificate: loaded.Leaf, key: loaded.PrivateKey}
}

// CertData is the authority's own certificate, PEM.
func (a *Authority) CertData() []byte { return encodePEM("CERTIFICATE", a.certificate.Raw) }

// Certify signs a certificate for a key of its own.
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

// ConfigWith is the client configuration of whoever holds a certificate. The server of another, as a facade's, needs
// another Host, and CAFile if its certificate is of another authority.
func (c *Cluster) ConfigWith(pair KeyPair) *rest.Config {
	return &rest.Config{Host: c.Server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAFile: c.CAFile, CertData: pair.CertData, KeyData: pair.KeyData,
	}}
}

// ConfigOf is the client configuration of a user whom the cluster did not know before, and who may do what everybody
// and his groups may.
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
