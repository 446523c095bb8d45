package auth

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// configMap returns the ConfigMap that kube-apiserver writes, with the bundles that are not nil.
func configMap(t testing.TB, clients, proxies []byte) string {
	t.Helper()
	m := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, Data: map[string]string{}}
	if clients != nil {
		m.Data["client-ca-file"] = string(clients)
	}
	if proxies != nil {
		m.Data["requestheader-client-ca-file"] = string(proxies)
		m.Data["requestheader-allowed-names"] = `["front-proxy"]`
		m.Data["requestheader-username-headers"] = `["X-Remote-User"]`
		m.Data["requestheader-group-headers"] = `["X-Remote-Group"]`
		m.Data["requestheader-extra-headers-prefix"] = `["X-Remote-Extra-"]`
	}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// running starts an authenticator with the ConfigMap of an upstream. The test must call stop in the same bubble.
func running(t *testing.T, c TrustConfig, u *reviewer) (a *Authenticator, stop func()) {
	t.Helper()
	a = trusting(t, c, u)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	synctest.Wait()
	return a, func() { cancel(); <-ended }
}

// Certificates are not accepted while the ConfigMap is absent, and are accepted after it appears. While its presence is
// unknown, certificates are not refused. Tokens are accepted all the time.
func TestCertificatesAreAcceptedOnceConfigMapAppears(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		before string
	}{
		"not found":       {404, "anonymous:system:anonymous"},
		"forbidden":       {403, "anonymous:system:anonymous"},
		"no response yet": {0, "503"},
		"a server error":  {500, "503"},
		"unauthorized":    {401, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				ca := newSigner(t, "ca", nil)
				leaf := ca.issue(t, certificateOf("alice"))
				p := &pages{}
				if c.code > 0 {
					p.set(trustConfigMap, c.code, "")
				}
				core, logs := observer.New(zap.InfoLevel)
				a, stop := running(t, TrustConfig{Upstream: p, Log: zap.New(core)}, knows(map[string]string{"good": "bob"}))
				defer stop()
				<-time.After(time.Minute)
				if n := logs.FilterLevelExact(zap.WarnLevel).Len(); n != 1 {
					t.Errorf("got %d warnings, want 1", n)
				}
				check := func(what, certificate string) {
					t.Helper()
					caller, err := a.Authenticate(request(leaf))
					expect(t, what, certificate, caller, err)
				}
				check("before", c.before)
				caller, err := a.Authenticate(request())
				expect(t, "without a certificate", "anonymous:system:anonymous", caller, err)
				caller, err = a.Authenticate(withToken(request(leaf), "good"))
				expect(t, "with a token", "token:bob", caller, err)
				if a.trust.Hints() != nil {
					t.Error("got hints, want none")
				}
				p.set(trustConfigMap, 200, configMap(t, ca.pem(), nil))
				<-time.After(trustInterval + time.Second)
				check("afterwards", "cert:alice")
				for _, code := range []int{404, 403, 500, 401} { // the last known bundle stays
					p.set(trustConfigMap, code, "")
					<-time.After(trustInterval + time.Second)
					check("at last", "cert:alice")
				}
			})
		})
	}
}

// Before the first refresh, certificates are not refused either.
func TestCertificatesAreNotRefusedBeforeRun(t *testing.T) {
	ca := newSigner(t, "ca", nil)
	a := trusting(t, TrustConfig{Upstream: &pages{}}, nil)
	caller, err := a.Authenticate(request(ca.issue(t, certificateOf("alice"))))
	expect(t, "before Run", "503", caller, err)
	c := files(t, ca.pem(), nil) // the proxies' bundle is in the ConfigMap
	c.ProxyCAFile, c.Upstream = "", &pages{}
	a = trusting(t, c, nil)
	caller, err = a.Authenticate(request(ca.issue(t, certificateOf("alice"))))
	expect(t, "a client's, before Run", "cert:alice", caller, err)
	caller, err = a.Authenticate(request(newSigner(t, "proxies", nil).issue(t, certificateOf("front-proxy"))))
	expect(t, "possibly a proxy's, before Run", "503", caller, err)
}

// A new bundle applies at the next refresh, also to chains with a cached result. An invalid bundle changes nothing.
func TestTrustFollowsRotatedBundles(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		old, next, proxyCA := newSigner(t, "old", nil), newSigner(t, "next", nil), newSigner(t, "proxies", nil)
		alice, bob := old.issue(t, certificateOf("alice")), next.issue(t, certificateOf("bob"))
		proxy := proxyCA.issue(t, certificateOf("front-proxy"))
		p := &pages{}
		core, logs := observer.New(zap.InfoLevel)
		p.set(trustConfigMap, 200, configMap(t, old.pem(), proxyCA.pem()))
		a, stop := running(t, TrustConfig{Upstream: p, Log: zap.New(core)}, nil)
		defer stop()
		check := func(what, wantOld, wantNew, wantProxy string) {
			t.Helper()
			for leaf, want := range map[*x509.Certificate]string{alice: wantOld, bob: wantNew} {
				caller, err := a.Authenticate(request(leaf))
				expect(t, what, want, caller, err)
			}
			caller, err := a.Authenticate(withHeaders(request(proxy), "X-Remote-User", "carol"))
			expect(t, what+", by proxy", wantProxy, caller, err)
		}
		check("at first", "cert:alice", "401", "proxy:carol")
		for i, step := range []struct{ what, body, old, next, proxy string }{
			{"both", configMap(t, bundleOf(old, next), proxyCA.pem()), "cert:alice", "cert:bob", "proxy:carol"},
			{"garbage", configMap(t, []byte("-----BEGIN CERTIFICATE-----\n?"), []byte("none")), "cert:alice", "cert:bob", "proxy:carol"},
			{"no JSON", "<html>", "cert:alice", "cert:bob", "proxy:carol"},
			{"another name for proxies", strings.Replace(configMap(t, bundleOf(old, next), proxyCA.pem()), `[\"front-proxy\"]`, `[\"other\"]`, 1), "cert:alice", "cert:bob", "401"},
			{"names that are no list", strings.Replace(configMap(t, bundleOf(old, next), proxyCA.pem()), `[\"front-proxy\"]`, `x`, 1), "cert:alice", "cert:bob", "401"},
			{"the new one alone", configMap(t, next.pem(), proxyCA.pem()), "401", "cert:bob", "proxy:carol"},
			{"no proxies any more", configMap(t, next.pem(), old.pem()), "401", "cert:bob", "401"},
		} {
			p.set(trustConfigMap, 200, step.body)
			<-time.After(trustInterval)
			synctest.Wait()
			check(step.what, step.old, step.next, step.proxy)
			if bad := slices.Contains([]int{1, 2, 4}, i); bad != (logs.FilterLevelExact(zap.WarnLevel).Len() > 0) {
				t.Errorf("%s: got the log %v", step.what, logs.All())
			}
			logs.TakeAll()
		}
	})
}

// Without its lists of names and headers, a proxies' bundle is not used.
func TestProxyBundleWithoutListsIsNotUsed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		proxyCA := newSigner(t, "proxies", nil)
		p := &pages{}
		whole := configMap(t, nil, proxyCA.pem())
		p.set(trustConfigMap, 200, strings.Replace(whole, `[\"front-proxy\"]`, `[`, 1))
		a, stop := running(t, TrustConfig{Upstream: p}, nil)
		defer stop()
		r := withHeaders(request(proxyCA.issue(t, certificateOf("any"))), "X-Remote-User", "admin")
		if caller, err := a.Authenticate(r); result(caller, err) == "proxy:admin" {
			t.Error("got a user from headers without configured names, want a refusal")
		}
	})
}

// An empty bundle withdraws trust immediately. A missing one stays trusted for ten more minutes, with a warning. One
// that cannot be read stays trusted, with a warning.
func TestMissingBundleWithdrawsTrust(t *testing.T) {
	const anonymousUser = "anonymous:system:anonymous"
	for name, c := range map[string]struct {
		withdraw         func(t *testing.T, p *pages, file string)
		soon, late       string // result of a certificate after a minute, and after ten
		warned, problems int    // number of warnings, and whether there is a problem at the end
	}{
		"empty in the ConfigMap": {func(t *testing.T, p *pages, _ string) {
			p.set(trustConfigMap, 200, configMap(t, []byte(""), []byte(" \n")))
		}, anonymousUser, anonymousUser, 0, 0},
		"no key":        {func(t *testing.T, p *pages, _ string) { p.set(trustConfigMap, 200, configMap(t, nil, nil)) }, "counts", anonymousUser, 2, 1},
		"no ConfigMap":  {func(_ *testing.T, p *pages, _ string) { p.set(trustConfigMap, 404, "") }, "counts", anonymousUser, 2, 1},
		"forbidden":     {func(_ *testing.T, p *pages, _ string) { p.set(trustConfigMap, 403, "") }, "counts", "counts", 1, 1},
		"not reached":   {func(_ *testing.T, p *pages, _ string) { p.set(trustConfigMap, 500, "") }, "counts", "counts", 1, 1},
		"an empty file": {func(t *testing.T, _ *pages, file string) { write(t, file, nil) }, anonymousUser, anonymousUser, 0, 0},
		"no file": {func(t *testing.T, _ *pages, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, "counts", anonymousUser, 2, 1},
		"garbage in a file": {func(t *testing.T, _ *pages, file string) { write(t, file, []byte("garbage")) }, "counts", "counts", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				clients, proxies := newSigner(t, "clients", nil), newSigner(t, "proxies", nil)
				alice, proxy := clients.issue(t, certificateOf("alice")), proxies.issue(t, certificateOf("front-proxy"))
				p := &pages{}
				back := configMap(t, clients.pem(), proxies.pem())
				p.set(trustConfigMap, 200, back)
				core, logs := observer.New(zap.InfoLevel)
				trust := TrustConfig{Upstream: p, Log: zap.New(core)}
				if strings.Contains(name, "file") {
					trust = files(t, clients.pem(), proxies.pem())
					trust.Log = zap.New(core)
				}
				a, stop := running(t, trust, nil)
				defer stop()
				check := func(when, want string) {
					t.Helper()
					synctest.Wait()
					for way, r := range map[string]*http.Request{"cert:alice": request(alice), "proxy:carol": withHeaders(request(proxy), "X-Remote-User", "carol")} {
						wanted := want
						if want == "counts" {
							wanted = way
						}
						caller, err := a.Authenticate(r)
						expect(t, when+", "+way, wanted, caller, err)
					}
				}
				check("at first", "counts")
				c.withdraw(t, p, trust.ClientCAFile)
				if file := trust.ProxyCAFile; file != "" {
					c.withdraw(t, p, file)
				}
				<-time.After(time.Minute)
				check("a minute later", c.soon)
				<-time.After(absenceGrace)
				check("ten minutes later", c.late)
				if n := logs.FilterLevelExact(zap.WarnLevel).Len(); n != c.warned {
					t.Errorf("got %d warnings, want %d: %v", n, c.warned, logs.All())
				}
				if problem := a.trust.Problem(); (problem != "") != (c.problems > 0) {
					t.Errorf("got the problem %q", problem)
				}
				p.set(trustConfigMap, 200, back)
				if trust.ClientCAFile != "" {
					write(t, trust.ClientCAFile, clients.pem())
					write(t, trust.ProxyCAFile, proxies.pem())
				}
				<-time.After(trustInterval)
				check("when it is back", "counts")
				if problem := a.trust.Problem(); problem != "" {
					t.Errorf("got the problem %q after the bundles are back, want none", problem)
				}
			})
		})
	}
}

// A bundle that was never present is no problem, because some clusters have no client certificates.
func TestAbsentBundleIsNoProblem(t *testing.T) {
	for _, code := range []int{404, 403} {
		bubble.Test(t, func(t *testing.T) {
			p := &pages{}
			p.set(trustConfigMap, code, "")
			a, stop := running(t, TrustConfig{Upstream: p}, nil)
			defer stop()
			<-time.After(2 * absenceGrace)
			if problem := a.trust.Problem(); problem != "" {
				t.Errorf("%d: got the problem %q, want none", code, problem)
			}
		})
	}
}

// The log says in which authorities trust was withdrawn. It does not name authorities that were never trusted.
func TestWithdrawalNamesOnlyTrustedBundles(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := &pages{}
		p.set(trustConfigMap, 200, configMap(t, nil, newSigner(t, "proxies", nil).pem()))
		core, logs := observer.New(zap.InfoLevel)
		_, stop := running(t, TrustConfig{Upstream: p, Log: zap.New(core)}, nil)
		defer stop()
		p.set(trustConfigMap, 200, configMap(t, nil, []byte("")))
		<-time.After(trustInterval)
		synctest.Wait()
		all := logs.FilterMessage("Withdrew trust in certificate authorities").All()
		if len(all) != 1 || all[0].ContextMap()["clients"] != false || all[0].ContextMap()["frontProxies"] != true {
			t.Errorf("got %v, want one withdrawal, of front proxies only", all)
		}
	})
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Files are read again, also if a symbolic link to them is replaced as in a Secret's volume. An invalid file changes
// nothing.
func TestFilesAreReadAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		old, next := newSigner(t, "old", nil), newSigner(t, "next", nil)
		alice, bob := old.issue(t, certificateOf("alice")), next.issue(t, certificateOf("bob"))
		dir := t.TempDir()
		file := filepath.Join(dir, "ca.crt")
		swap := func(version string, pem []byte) {
			if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, version, "ca.crt"), pem, 0o600); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, "link")
			if err := os.Symlink(version, link); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(link, filepath.Join(dir, "data")); err != nil {
				t.Fatal(err)
			}
		}
		swap("1", old.pem())
		if err := os.Symlink(filepath.Join("data", "ca.crt"), file); err != nil {
			t.Fatal(err)
		}
		a, stop := running(t, TrustConfig{ClientCAFile: file, ProxyCAFile: file}, nil)
		defer stop()
		hints := a.trust.Hints()
		for version, c := range []struct {
			pem      []byte
			old, new string
		}{{next.pem(), "401", "cert:bob"}, {[]byte("garbage"), "401", "cert:bob"}, {old.pem(), "cert:alice", "401"}} {
			swap("v"+string(rune('a'+version)), c.pem)
			<-time.After(trustInterval)
			synctest.Wait()
			caller, err := a.Authenticate(request(alice))
			expect(t, "the old certificate", c.old, caller, err)
			caller, err = a.Authenticate(request(bob))
			expect(t, "the new certificate", c.new, caller, err)
			if version == 0 && a.trust.Hints() == hints {
				t.Error("got the hints of the old bundle, want new ones")
			}
		}
	})
}

// Files must be valid at the start, as in kube-apiserver.
func TestInvalidFilesFailAtTheStart(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, nil)
	for _, c := range []TrustConfig{{ClientCAFile: garbage}, {ProxyCAFile: garbage}, {ClientCAFile: empty}, {ProxyCAFile: empty}, {ClientCAFile: garbage + "x"}, {ProxyCAFile: garbage + "x"}} {
		if _, err := NewTrust(c); err == nil {
			t.Errorf("got no error for %+v", c)
		}
	}
}

// Hints contain both bundles.
func TestHintsContainBothBundles(t *testing.T) {
	ca, proxyCA := newSigner(t, "ca", nil), newSigner(t, "proxies", nil)
	trust, err := NewTrust(files(t, ca.pem(), proxyCA.pem()))
	if err != nil {
		t.Fatal(err)
	}
	want := x509.NewCertPool()
	want.AddCert(ca.certificate)
	want.AddCert(proxyCA.certificate)
	if !trust.Hints().Equal(want) {
		t.Error("got other hints than the two bundles")
	}
}

// AnonymousAsUpstream follows the upstream's treatment of anonymous requests. A failed probe changes nothing.
func TestAnonymousAsUpstream(t *testing.T) {
	const yes, no = "anonymous:system:anonymous", "401"
	bubble.Test(t, func(t *testing.T) {
		p := &pages{}
		a := NewAuthenticator(AuthenticatorConfig{Anonymous: AnonymousAsUpstream, Probe: p})
		check := func(what, want string) {
			t.Helper()
			caller, err := a.Authenticate(request())
			expect(t, what, want, caller, err)
		}
		check("before it was asked", no)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx); close(ended) }()
		synctest.Wait()
		check("before it answers", no)
		if err := a.CanReview(t.Context()); err == nil {
			t.Error("got ready before the treatment of anonymous requests is known")
		}
		for _, step := range []struct {
			what        string
			health, api int
			want        string
		}{
			{"health alone", 200, 401, no}, {"on", 200, 403, yes}, {"trouble", 500, 403, yes}, {"too much", 429, 429, yes}, {"off", 401, 401, no},
			{"not found", 404, 404, no}, {"forbidden", 403, 403, yes}, {"open", 200, 200, yes}, {"the API off", 200, 401, no}, {"redirected", 302, 200, no},
		} {
			p.set("/healthz", step.health, "")
			p.set("/api", step.api, "")
			<-time.After(anonymousInterval + anonymousRetry)
			check(step.what, step.want)
			if err := a.CanReview(t.Context()); err != nil {
				t.Errorf("%s: got %v, want ready", step.what, err)
			}
		}
		cancel()
		<-ended
	})
	for mode, want := range map[AnonymousMode]string{AnonymousOn: yes, AnonymousOff: no, "": no} {
		a := NewAuthenticator(AuthenticatorConfig{Anonymous: mode})
		caller, err := a.Authenticate(request())
		expect(t, string(mode), want, caller, err)
		if err == nil && !slices.Equal(caller.Info.GetGroups(), []string{"system:unauthenticated"}) {
			t.Errorf("got groups %q, want system:unauthenticated", caller.Info.GetGroups())
		}
	}
}

// Constructors start no goroutine, and Run leaves none behind.
func TestAuthenticatorLeaksNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ca := newSigner(t, "ca", nil)
	c := files(t, ca.pem(), nil)
	c.ProxyCAFile, c.Upstream = "", &pages{}
	trust, err := NewTrust(c)
	if err != nil {
		t.Fatal(err)
	}
	a := NewAuthenticator(AuthenticatorConfig{Trust: trust, Tokens: knows(map[string]string{"t": "a"}), Anonymous: AnonymousAsUpstream, Probe: &pages{}})
	if err := goleak.Find(before); err != nil {
		t.Errorf("got a goroutine of a constructor: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	if _, err := a.Authenticate(withToken(request(), "t")); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
