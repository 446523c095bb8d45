package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// files writes the bundles to files and returns a configuration that trusts them.
func files(t testing.TB, clients, proxies []byte) TrustConfig {
	t.Helper()
	write := func(name string, pem []byte) string {
		if pem == nil {
			return ""
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return TrustConfig{
		ClientCAFile: write("clients.crt", clients), ProxyCAFile: write("proxies.crt", proxies),
		ProxyNames: []string{"front-proxy"}, ProxyHeaders: standardHeaders,
	}
}

func trusting(t testing.TB, c TrustConfig, u *reviewer) *Authenticator {
	t.Helper()
	trust, err := NewTrust(c)
	if err != nil {
		t.Fatal(err)
	}
	config := AuthenticatorConfig{Trust: trust, Anonymous: AnonymousOn}
	if u != nil {
		config.Tokens = u
	}
	return NewAuthenticator(config)
}

// Certificates are accepted as by kube-apiserver's package x509.
func TestCertificatesAreAcceptedAsByKubeAPIServer(t *testing.T) {
	ca, foreign := newSigner(t, "ca", nil), newSigner(t, "ca", nil) // two authorities with the same name
	between, twice := newSigner(t, "between", ca), (*signer)(nil)
	twice = newSigner(t, "twice", between)
	vary := func(change func(*x509.Certificate)) *x509.Certificate {
		template := certificateOf("alice")
		change(template)
		return ca.issue(t, template)
	}
	const anonymousUser = "anonymous:system:anonymous"
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		want  string
	}{
		"none":                            {nil, anonymousUser},
		"a good one":                      {[]*x509.Certificate{ca.issue(t, certificateOf("alice"))}, "cert:alice"},
		"of a foreign CA":                 {[]*x509.Certificate{foreign.issue(t, certificateOf("alice"))}, "401"},
		"with the CA after it":            {[]*x509.Certificate{foreign.issue(t, certificateOf("alice")), ca.certificate}, "401"},
		"a good one second":               {[]*x509.Certificate{foreign.issue(t, certificateOf("alice")), ca.issue(t, certificateOf("bob"))}, "401"},
		"expired":                         {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Second) })}, "401"},
		"not yet":                         {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })}, "401"},
		"a server's":                      {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, "401"},
		"any use":                         {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} })}, "cert:alice"},
		"no use named":                    {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.ExtKeyUsage = nil })}, "cert:alice"},
		"no name":                         {[]*x509.Certificate{vary(func(c *x509.Certificate) { c.Subject = pkix.Name{Organization: []string{"system:masters"}} })}, anonymousUser},
		"a chain":                         {[]*x509.Certificate{between.issue(t, certificateOf("alice")), between.certificate}, "cert:alice"},
		"a long chain":                    {[]*x509.Certificate{twice.issue(t, certificateOf("alice")), twice.certificate, between.certificate}, "cert:alice"},
		"a chain, disordered":             {[]*x509.Certificate{twice.issue(t, certificateOf("alice")), between.certificate, twice.certificate}, "cert:alice"},
		"a chain without an intermediate": {[]*x509.Certificate{twice.issue(t, certificateOf("alice")), twice.certificate}, "401"},
		"no intermediate at all":          {[]*x509.Certificate{between.issue(t, certificateOf("alice"))}, "401"},
		"signed by itself":                {[]*x509.Certificate{foreign.certificate}, "401"},
		"named as the anonymous user":     {[]*x509.Certificate{ca.issue(t, certificateOf("system:anonymous"))}, "cert:system:anonymous"},
	} {
		t.Run(name, func(t *testing.T) {
			a := trusting(t, files(t, ca.pem(), nil), nil)
			for range 3 { // cached results are the same
				caller, err := a.Authenticate(request(c.chain...))
				expect(t, name, c.want, caller, err)
			}
		})
	}
}

// The subject of a certificate is the user: CN is the name, and each O is a group. The certificate's hash is an extra.
func TestCertificateSubjectIsTheUser(t *testing.T) {
	ca := newSigner(t, "ca", nil)
	leaf := ca.issue(t, certificateOf("system:node:n1", "system:nodes", "x"))
	caller, err := trusting(t, files(t, ca.pem(), nil), nil).Authenticate(request(leaf))
	if err != nil {
		t.Fatal(err)
	}
	groups := slices.Sorted(slices.Values(caller.Info.GetGroups()))
	if !reflect.DeepEqual(groups, []string{"system:authenticated", "system:nodes", "x"}) {
		t.Errorf("got groups %q, want those of the subject and system:authenticated", groups)
	}
	id := caller.Info.GetExtra()["authentication.kubernetes.io/credential-id"]
	if len(id) != 1 || !strings.HasPrefix(id[0], "X509SHA256=") {
		t.Errorf("got extra %q, want a credential ID", caller.Info.GetExtra())
	}
	if !caller.Until.Equal(leaf.NotAfter) || caller.Way != ByCertificate {
		t.Errorf("got %+v, want the expiry of the certificate and ByCertificate", caller)
	}
}

// A chain expires with the first of its certificates.
func TestChainExpiresWithItsFirstCertificate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ca := newSigner(t, "ca", nil)
		between := &signer{key: newKey(t)}
		template := certificateOf("between")
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		template.NotAfter = time.Now().Add(time.Hour)
		between.certificate = ca.sign(t, template, between.key)
		a := trusting(t, files(t, ca.pem(), nil), nil)
		chain := []*x509.Certificate{between.issue(t, certificateOf("alice")), between.certificate}
		caller, err := a.Authenticate(request(chain...))
		expect(t, "at first", "cert:alice", caller, err)
		if !caller.Until.Equal(between.certificate.NotAfter) {
			t.Errorf("got the expiry %s, want that of the intermediate", caller.Until)
		}
		<-time.After(time.Hour + time.Second)
		caller, err = a.Authenticate(request(chain...))
		expect(t, "at its end", "401", caller, err)
	})
}

// Of two valid credentials, the certificate counts. An invalid one does not affect the other, but such a request is
// never anonymous.
func TestCertificateTakesPrecedenceOverToken(t *testing.T) {
	ca, foreign := newSigner(t, "ca", nil), newSigner(t, "foreign", nil)
	good, bad := ca.issue(t, certificateOf("alice")), foreign.issue(t, certificateOf("alice"))
	nameless := ca.issue(t, certificateOf("", "g"))
	for name, c := range map[string]struct {
		chain *x509.Certificate
		token string
		want  string
	}{
		"both good":                    {good, "good", "cert:alice"},
		"a bad token":                  {good, "bad", "cert:alice"},
		"a bad certificate":            {bad, "good", "token:bob"},
		"both bad":                     {bad, "bad", "401"},
		"a certificate without a name": {nameless, "good", "token:bob"},
		"no name and a bad token":      {nameless, "bad", "401"},
		"a bad certificate alone":      {bad, "", "401"},
	} {
		u := knows(map[string]string{"good": "bob"})
		r := request(c.chain)
		if c.token != "" {
			r = withToken(r, c.token)
		}
		caller, err := trusting(t, files(t, ca.pem(), nil), u).Authenticate(r)
		expect(t, name, c.want, caller, err)
		if err == nil && r.Header.Get("Authorization") != "" {
			t.Errorf("%s: got an Authorization header, want none", name)
		}
		if strings.HasPrefix(c.want, "cert:") && u.asked.Load() > 0 {
			t.Errorf("%s: got a review of the token, want none", name)
		}
	}
	u := knows(nil)
	u.answers(503, "")
	caller, err := trusting(t, files(t, ca.pem(), nil), u).Authenticate(withToken(request(bad), "t"))
	expect(t, "a bad certificate, and a token that cannot be reviewed", "503", caller, err)
}

// The headers of a front proxy count only with its certificate. They are always removed from the request.
func TestFrontProxyHeadersNeedItsCertificate(t *testing.T) {
	ca, proxyCA := newSigner(t, "ca", nil), newSigner(t, "proxies", nil)
	proxy := proxyCA.issue(t, certificateOf("front-proxy"))
	other := proxyCA.issue(t, certificateOf("somebody"))
	client := ca.issue(t, certificateOf("alice"))
	impostor := ca.issue(t, certificateOf("front-proxy"))
	admin := []string{"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "X-Remote-Uid", "u", "X-Remote-Extra-Scopes", "s"}
	for name, c := range map[string]struct {
		chain   []*x509.Certificate
		headers []string
		want    string
	}{
		"no certificate":                 {nil, admin, "anonymous:system:anonymous"},
		"a client's":                     {[]*x509.Certificate{client}, admin, "cert:alice"},
		"a client's of the proxy's name": {[]*x509.Certificate{impostor}, admin, "cert:front-proxy"},
		"another name":                   {[]*x509.Certificate{other}, admin, "401"},
		"the proxy second":               {[]*x509.Certificate{client, proxy}, admin, "cert:alice"},
		"the proxy's":                    {[]*x509.Certificate{proxy}, admin, "proxy:admin"},
		"the proxy's, no header":         {[]*x509.Certificate{proxy}, nil, "401"}, // its certificate is not a client's
		"the proxy's, an empty header":   {[]*x509.Certificate{proxy}, []string{"X-Remote-User", ""}, "401"},
		"the proxy's, groups alone":      {[]*x509.Certificate{proxy}, []string{"X-Remote-Group", "system:masters"}, "401"},
		"the proxy's, two names":         {[]*x509.Certificate{proxy}, []string{"X-Remote-User", "a", "X-Remote-User", "b"}, "proxy:a"},
		"the proxy's, underscores":       {[]*x509.Certificate{proxy}, []string{"X_Remote_User", "admin"}, "401"},
		"the proxy's, lower case":        {[]*x509.Certificate{proxy}, []string{"x-remote-user", "admin"}, "401"},
		"the proxy's, not UTF-8":         {[]*x509.Certificate{proxy}, []string{"X-Remote-User", "\xff"}, "401"},
		"the proxy's, a group not UTF-8": {[]*x509.Certificate{proxy}, []string{"X-Remote-User", "a", "X-Remote-Group", "\xff"}, "401"},
	} {
		t.Run(name, func(t *testing.T) {
			a := trusting(t, files(t, ca.pem(), proxyCA.pem()), nil)
			for range 2 {
				r := withHeaders(request(c.chain...), c.headers...)
				caller, err := a.Authenticate(r)
				expect(t, name, c.want, caller, err)
				for header := range r.Header {
					if err == nil && strings.HasPrefix(header, "X-Remote-") {
						t.Errorf("got the header %s, want none", header)
					}
				}
				if caller != nil && caller.Way != ByFrontProxy && slices.Contains(caller.Info.GetGroups(), "system:masters") {
					t.Errorf("got groups %q without a proxy's certificate, want no system:masters", caller.Info.GetGroups())
				}
			}
		})
	}
	r := withHeaders(request(proxy), admin...)
	caller, err := trusting(t, files(t, ca.pem(), proxyCA.pem()), nil).Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	if info := caller.Info; info.GetUID() != "u" || !reflect.DeepEqual(info.GetGroups(), []string{"system:masters", "system:authenticated"}) ||
		!reflect.DeepEqual(info.GetExtra(), map[string][]string{"scopes": {"s"}}) || !caller.Until.IsZero() {
		t.Errorf("got %+v, want the user in the headers", info)
	}
}

// Without configured names, a proxy's certificate may have any name. Headers have the configured names.
func TestFrontProxyHeadersAreConfigurable(t *testing.T) {
	proxyCA := newSigner(t, "proxies", nil)
	c := files(t, nil, proxyCA.pem())
	c.ProxyNames, c.ProxyHeaders = nil, ProxyHeaders{Username: []string{"x-who"}, Group: []string{"X-Of"}}
	a := trusting(t, c, nil)
	r := withHeaders(request(proxyCA.issue(t, certificateOf("any"))), "X-Who", "bob", "X-Of", "g", "X-Remote-User", "admin")
	caller, err := a.Authenticate(r)
	expect(t, "another header", "proxy:bob", caller, err)
	if len(r.Header) > 0 {
		t.Errorf("got headers %q, want none", r.Header)
	}
}

// The result of a chain is cached, and its caller is shared. Refused chains do not evict accepted ones.
func TestCertificateResultsAreCached(t *testing.T) {
	ca := newSigner(t, "ca", nil)
	a := trusting(t, files(t, ca.pem(), nil), nil)
	leaf := ca.issue(t, certificateOf("alice"))
	one, _ := a.Authenticate(request(leaf))
	two, _ := a.Authenticate(request(leaf))
	if one == nil || one != two {
		t.Errorf("got callers %p and %p, want one", one, two)
	}
	foreign := newSigner(t, "foreign", nil)
	for range maxForeign + 10 {
		template := certificateOf("x")
		_, _ = a.Authenticate(request(foreign.issue(t, template)))
	}
	clients := a.trust.current().clients
	if n := len(clients.refusedBy.Keys()); n > maxForeign {
		t.Errorf("got %d cached refusals, want maxForeign at most", n)
	}
	if three, _ := a.Authenticate(request(leaf)); three != one {
		t.Error("refused chains evicted an accepted one")
	}
}

func BenchmarkAuthenticateCertificate(b *testing.B) {
	ca, proxyCA := newSigner(b, "ca", nil), newSigner(b, "proxies", nil)
	a := trusting(b, files(b, ca.pem(), proxyCA.pem()), nil)
	r := request(ca.issue(b, certificateOf("alice", "g")))
	r.Header = http.Header{"Accept": {"application/json"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever bytes and string type a subject has, the user has exactly that name and those groups, or is refused. Names
// that are not UTF-8 are refused.
func FuzzCertificateName(f *testing.F) {
	ca := newSigner(f, "ca", nil)
	a := trusting(f, files(f, ca.pem(), nil), nil)
	key := newKey(f)
	kinds := []int{asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagT61String, asn1.TagNumericString, asn1.TagBMPString}
	for _, seed := range []string{"alice", "", "system:admin", "a\x00b", "a,O=system:masters", "a/O=system:masters", "\xff", "\xfe", "é", " alice ", "alice\n", "\x00a"} {
		for kind := range kinds {
			f.Add([]byte(seed), []byte("g"), uint8(kind))
			f.Add([]byte("alice"), []byte(seed), uint8(kind))
		}
	}
	f.Fuzz(func(t *testing.T, name, group []byte, kind uint8) {
		tag := kinds[int(kind)%len(kinds)]
		element := func(oid asn1.ObjectIdentifier, value []byte) []attribute {
			return []attribute{{Type: oid, Value: asn1.RawValue{Tag: tag, Bytes: value}}}
		}
		subject, err := asn1.Marshal([]attributeSET{element(asn1.ObjectIdentifier{2, 5, 4, 3}, name), element(asn1.ObjectIdentifier{2, 5, 4, 10}, group)})
		if err != nil {
			t.Skip(err)
		}
		template := certificateOf("")
		template.RawSubject = subject
		der, err := x509.CreateCertificate(zeros{}, template, ca.certificate, key.Public(), ca.key)
		if err != nil {
			t.Skip(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Skip(err) // a handshake fails, too
		}
		caller, err := a.Authenticate(request(leaf))
		if err != nil || caller.Way == Anonymously {
			return
		}
		wantName, wantGroup := text(tag, name), text(tag, group)
		groups := []string{wantGroup, "system:authenticated"}
		if wantName == "system:anonymous" || wantGroup == "system:authenticated" || wantGroup == "system:unauthenticated" {
			groups = groups[:1]
		}
		if caller.Name() != wantName || !reflect.DeepEqual(caller.Info.GetGroups(), groups) || !utf8.ValidString(wantName+"."+wantGroup) {
			t.Errorf("name %q and group %q: got user %q in groups %q", name, group, caller.Name(), caller.Info.GetGroups())
		}
	})
}

// text decodes the bytes of an ASN.1 string type.
func text(tag int, b []byte) string {
	switch tag {
	case asn1.TagT61String: // read as ISO 8859-1 (crypto/x509)
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		return string(runes)
	case asn1.TagBMPString: // UTF-16
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
		}
		// crypto/x509 drops a zero at the end.
		return strings.TrimSuffix(string(utf16.Decode(units)), "\x00")
	default:
		return string(b)
	}
}

type (
	attribute struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	attributeSET []attribute // marshaled as a SET, because asn1 looks at the suffix of the name
)

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
