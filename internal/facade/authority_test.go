package facade

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// authorityServer stores a Secret and a ConfigMap as kube-apiserver does. A patch with an old resourceVersion is a
// conflict.
type authorityServer struct {
	mu       sync.Mutex
	version  int
	objects  map[string]map[string]any // data by path
	requests []string
	before   func() // before the first patch, without the lock
}

func (s *authorityServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil && r.Method == http.MethodPatch {
		before := s.before
		s.before = nil
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	data, ok := s.objects[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPatch {
		var patch struct {
			Metadata struct{ ResourceVersion string }
			Data     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
			http.Error(w, "not a merge patch", http.StatusBadRequest)
			return
		}
		if patch.Metadata.ResourceVersion != strconv.Itoa(s.version) {
			http.Error(w, "conflict", http.StatusConflict)
			return
		}
		for key, value := range patch.Data {
			data[key] = value
		}
		s.version++
	}
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client sees a short response
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "data": data,
	})
}

const (
	authoritySecret    = "/api/v1/namespaces/apart/secrets/shared"
	authorityConfigMap = "/api/v1/namespaces/apart/configmaps/shared"
)

func startAuthorityServer(t *testing.T) (*authorityServer, *rest.Config) {
	t.Helper()
	s := &authorityServer{objects: map[string]map[string]any{authoritySecret: {}, authorityConfigMap: {}}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &rest.Config{Host: server.URL}
}

func shared() Config {
	c := Defaults()
	c.SharedAuthority = "apart/shared"
	return c
}

func mustLoad(t *testing.T, config *rest.Config) *Authority {
	t.Helper()
	authority, err := loadAuthority(t.Context(), shared(), config, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// The first replica creates the authority, and all others use it, also one that starts at the same time. A client that
// trusts the published certificate trusts each of them.
func TestReplicasShareAnAuthority(t *testing.T) {
	s, config := startAuthorityServer(t)
	var second *Authority
	s.before = func() { second = mustLoad(t, config) } // which makes the first one's patch a conflict
	authorities := []*Authority{mustLoad(t, config), second, mustLoad(t, config)}
	published, _ := s.objects[authorityConfigMap]["ca.crt"].(string)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(published)) {
		t.Fatalf("got ca.crt %q in the ConfigMap, want a certificate", published)
	}
	for i, authority := range authorities {
		c := shared()
		c.Authority = authority
		pair, err := NewServingPair(c, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"listfacade.apart.svc", "localhost", "127.0.0.1"} {
			if _, err := pair.now.Load().Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
				t.Errorf("replica %d, %s: %v", i, name, err)
			}
		}
	}
	patches := 0
	for _, request := range s.requests {
		if strings.HasPrefix(request, http.MethodPatch) {
			patches++
		}
	}
	if patches != 3 { // the Secret, the ConfigMap, and the one that conflicts
		t.Errorf("got %d patches, want 3: %v", patches, s.requests)
	}
}

// The authority's key cannot certify other servers for a client that trusts the authority.
func TestAuthorityCertifiesOnlyTheFacade(t *testing.T) {
	_, config := startAuthorityServer(t)
	authority := mustLoad(t, config)
	roots := x509.NewCertPool()
	roots.AddCert(authority.cert)
	for _, stolen := range []x509.Certificate{
		{DNSNames: []string{"kubernetes.default.svc"}}, {DNSNames: []string{"listfacade.other.svc"}},
		{IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}},
	} {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		stolen.NotBefore, stolen.NotAfter = authority.cert.NotBefore, authority.cert.NotAfter
		raw, err := x509.CreateCertificate(rand.Reader, &stolen, authority.cert, own.Public(), authority.key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
			t.Errorf("got a valid certificate for %v %v, want none", stolen.DNSNames, stolen.IPAddresses)
		}
	}
}

// A certificate is renewed long before its end, by the same authority.
func TestIssuedCertificateIsRenewed(t *testing.T) {
	_, config := startAuthorityServer(t)
	c := shared()
	c.Authority = mustLoad(t, config)
	bubble.Test(t, func(t *testing.T) {
		// The clock of the bubble is before the authority's validity.
		<-time.After(time.Until(c.Authority.cert.NotBefore.Add(clocksDiffer)))
		pair, err := NewServingPair(c, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go pair.Run(ctx)
		first := pair.now.Load().Leaf
		<-time.After(issuedFor / 2)
		if pair.now.Load().Leaf != first {
			t.Error("got another certificate after half of its validity, want the same")
		}
		<-time.After(issuedFor / 4)
		next := pair.now.Load().Leaf
		if !next.NotAfter.After(first.NotAfter) || next.CheckSignatureFrom(c.Authority.cert) != nil {
			t.Errorf("got a certificate until %v, want a later one of the same authority than %v", next.NotAfter, first.NotAfter)
		}
		cancel()
		synctest.Wait()
	})
}

// A Secret with other content is never replaced. The error says what to do.
func TestUnusableAuthorityIsReported(t *testing.T) {
	s, config := startAuthorityServer(t)
	mustLoad(t, config)
	leaf, key, err := certutil.GenerateSelfSignedCertKey("other", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"no key": {tlsCert: leaf}, "garbage": {tlsCert: []byte("x"), tlsKey: []byte("y")}, "another key": {tlsCert: leaf, tlsKey: key[:len(key)/2]},
	} {
		s.objects[authoritySecret] = map[string]any{}
		for file, content := range data {
			s.objects[authoritySecret][file] = content
		}
		store, err := newAuthorityStore(shared(), config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.load(t.Context()); err == nil || !strings.Contains(err.Error(), "remove its data") {
			t.Errorf("%s: got %v, want an error that says what to do", name, err)
		}
		if got := s.objects[authoritySecret]; len(got) != len(data) {
			t.Errorf("%s: got the Secret %v, want it unchanged", name, got)
		}
	}
}

// A process that cannot read the Secret waits for it, and ends when the context ends.
func TestMissingAuthorityIsAwaited(t *testing.T) {
	s, config := startAuthorityServer(t)
	delete(s.objects, authoritySecret)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := loadAuthority(ctx, shared(), config, zap.NewNop())
	if err == nil || !strings.Contains(err.Error(), "load --shared-authority apart/shared") {
		t.Errorf("got %v, want an error that names the flag", err)
	}
	c := shared()
	c.SharedAuthority = "shared"
	if _, err := loadAuthority(t.Context(), c, config, zap.NewNop()); err == nil {
		t.Error("got no error for a name without a namespace")
	}
}

// The proxy's certificate names its own Service. The volume of the Secret is empty until the first replica has started.
func TestProxyWaitsForTheAuthority(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		cert, key, err := NewAuthority("apart")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		go func() {
			<-time.After(time.Minute)
			for file, text := range map[string][]byte{tlsCert: cert, tlsKey: key} {
				if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
					t.Error(err)
				}
			}
		}()
		authority, err := ReadAuthority(t.Context(), dir, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		pair, err := authority.issue()
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(authority.cert)
		for name, want := range map[string]bool{
			"listfacade-split.apart.svc": true, "listfacade-split.apart": true, "localhost": true,
			"listfacade.apart.svc": false, "kubernetes.default.svc": false,
		} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: time.Now()})
			if got := err == nil; got != want {
				t.Errorf("%s: got a valid certificate %t, want %t: %v", name, got, want, err)
			}
		}
	})
}

// An authority of an administrator may certify other names only.
func TestProxyRefusesAForeignAuthority(t *testing.T) {
	cert, key, err := NewAuthority("apart")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAuthority("other", cert, key); err == nil || !strings.Contains(err.Error(), "does not certify the Service other") {
		t.Errorf("got %v, want an error that names the Service", err)
	}
}

// check asks for the rights to the two objects, and only if there is a shared authority.
func TestCheckNeedsTheAuthority(t *testing.T) {
	var got []string
	for _, n := range shared().needs() {
		if n.right.Namespace == "apart" && n.right.Name == "shared" {
			got = append(got, n.right.Verb+" "+n.right.Resource)
		}
	}
	if want := []string{"get secrets", "patch secrets", "get configmaps", "patch configmaps"}; !slices.Equal(got, want) {
		t.Errorf("got the needs %v, want %v", got, want)
	}
	for _, n := range Defaults().needs() {
		if n.right.Resource == "secrets" {
			t.Errorf("got the need %+v without an authority, want none", n)
		}
	}
}
