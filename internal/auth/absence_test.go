package auth

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// Trust is withdrawn only if the bundle is known to be missing for ten minutes, or was empty twice in a row.
func TestTrustIsWithdrawnOnlyWhenBundleIsGone(t *testing.T) {
	broken := errors.New("no PEM")
	for name, c := range map[string]struct {
		readings []error // ten minutes apart
		over     bool
	}{
		"gone":                       {[]error{errAbsent, errAbsent}, true},
		"gone, then broken":          {[]error{errAbsent, broken}, false},
		"gone, broken, gone":         {[]error{errAbsent, broken, errAbsent}, false},
		"gone, then unread":          {[]error{errAbsent, errUnread}, false},
		"gone, unread, gone":         {[]error{errAbsent, errUnread, errAbsent}, true},
		"empty":                      {[]error{errEmpty}, false},
		"empty twice":                {[]error{errEmpty, errEmpty}, true},
		"empty, there, empty":        {[]error{errEmpty, nil, errEmpty}, false},
		"empty, broken, empty":       {[]error{errEmpty, broken, errEmpty}, false},
		"empty, gone, empty":         {[]error{errEmpty, errAbsent, errEmpty}, false},
		"gone, empty for a moment":   {[]error{errAbsent, errEmpty, nil}, false},
		"there again, and then gone": {[]error{errAbsent, nil, errAbsent}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var a absence
				var over bool
				for _, err := range c.readings {
					over, _ = a.note("bundle", err, true)
					<-time.After(absenceGrace)
				}
				if over != c.over {
					t.Errorf("got %t, want %t", over, c.over)
				}
			})
		})
	}
}

// A file that is rewritten in place is empty for a moment, and stays trusted.
func TestFileRewrittenInPlaceStaysTrusted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		clients, proxies := newSigner(t, "clients", nil), newSigner(t, "proxies", nil)
		alice := clients.issue(t, certificateOf("alice"))
		trust := files(t, clients.pem(), proxies.pem())
		a, stop := running(t, trust, nil)
		defer stop()
		check := func(when string) {
			t.Helper()
			<-time.After(trustInterval)
			synctest.Wait()
			caller, err := a.Authenticate(request(alice))
			expect(t, when, "cert:alice", caller, err)
		}
		for range 3 {
			write(t, trust.ClientCAFile, nil)
			check("empty for a moment")
			write(t, trust.ClientCAFile, clients.pem())
			check("written again")
		}
	})
}
