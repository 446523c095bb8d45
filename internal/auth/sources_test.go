package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Tokens that prove nobody are paid by where they come from; whoever is known from there passes, and so do others.
func TestBadTokensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := knows(map[string]string{"good": "alice", "other": "bob"})
		counts := newCounted()
		a := tokensOnly(u, func(c *AuthenticatorConfig) { c.Outcomes = counts })
		from := func(address, token string) (*Caller, error) {
			r := withToken(request(), token)
			r.RemoteAddr = address
			return a.Authenticate(r)
		}
		_, _ = from("192.0.2.1:1", "good")
		began := time.Now()
		busy := 0
		for i := range 1000 {
			caller, err := from("192.0.2.1:2", fmt.Sprint("bad", i))
			if got := said(caller, err); got == "429" {
				busy++
				var e *BusyError
				if errors.As(err, &e); e.After < time.Second {
					t.Errorf("come back after %s", e.After)
				}
			} else if got != "401" {
				t.Fatal(got)
			}
			<-time.After(time.Millisecond)
		}
		took := time.Since(began)
		if n, most := u.asked.Load()-1, int64(50+10*took.Seconds()+1); n > most || n < 50 || int(n)+busy != 1000 {
			t.Errorf("%d reviews and %d refusals in %s", n, busy, took)
		}
		caller, err := from("192.0.2.1:3", "good")
		expect(t, "a known token from there", "token:alice", caller, err)
		caller, err = from("192.0.2.1:3", "bad0")
		expect(t, "a token that is known to be bad", "401", caller, err)
		caller, err = from("192.0.2.2:1", "other")
		expect(t, "a new token from elsewhere", "token:bob", caller, err)
		<-time.After(10 * time.Second)
		caller, err = from("192.0.2.1:3", "other")
		expect(t, "a new token from there, later", "token:bob", caller, err)
		if counts.attempts[TooMany] != busy || counts.attempts[Proven] != 4 || counts.reviews[ProvenNobody]+counts.reviews[Proven] != int(u.asked.Load()) {
			t.Errorf("counted %v and %v of %d", counts.attempts, counts.reviews, u.asked.Load())
		}
	})
}

// Bad tokens that are sent all at once are bounded, too, before the first answer comes.
func TestBadTokensAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := knows(nil)
		u.do(func(context.Context, authenticationv1.TokenReview) (int, []byte, error) {
			<-time.After(100 * time.Millisecond)
			return 201, []byte(`{"kind":"TokenReview","status":{}}`), nil
		})
		a := tokensOnly(u, nil)
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() { _, _ = a.Authenticate(withToken(request(), fmt.Sprint(i))) })
		}
		all.Wait()
		if n := u.asked.Load(); n != 50 {
			t.Errorf("%d reviews", n)
		}
	})
}

// A token that was good goes on being, whatever others send from the same address, or from many.
func TestBadTokensKeepNobodyOut(t *testing.T) {
	for name, c := range map[string]struct{ sources, each, mine int }{"one address": {1, 12, 1}, "twelve others": {12, 10, 99}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := knows(map[string]string{"good": "alice"})
				a := tokensOnly(u, nil)
				from := func(source int, token string) (*Caller, error) {
					r := withToken(request(), token)
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", source)
					return a.Authenticate(r)
				}
				for second := range settings.Amount(40, 120) {
					for i := range c.sources * c.each {
						_, _ = from(1+i%c.sources, fmt.Sprint("bad", second, "-", i))
					}
					caller, err := from(c.mine, "good")
					expect(t, "a good token", "token:alice", caller, err)
					<-time.After(time.Second)
				}
				u.users = nil
				<-time.After(usualTTL + time.Nanosecond)
				caller, err := from(c.mine, "good")
				expect(t, "a token that is good no longer", "401", caller, err)
				<-time.After(usualTTL + time.Nanosecond)
				for i := range 400 {
					_, _ = from(1+i%c.sources, fmt.Sprint("bad", "-", i))
				}
				caller, err = from(c.mine, "good")
				expect(t, "one that was not when last reviewed", "429", caller, err)
			})
		})
	}
}

// What was good passes for ten minutes after it was last believed, and a failure of it counts.
func TestGoodTokensPassForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := knows(map[string]string{"one": "alice", "two": "bob"})
		a := tokensOnly(u, func(c *AuthenticatorConfig) { c.Failures = FailureLimits{Source: 0.0001, SourceBurst: 1} })
		for token, want := range map[string]string{"one": "token:alice", "two": "token:bob"} {
			caller, err := a.Authenticate(withToken(request(), token))
			expect(t, token, want, caller, err)
		}
		<-time.After(goodLasts)
		u.users = nil
		caller, err := a.Authenticate(withToken(request(), "one"))
		expect(t, "within ten minutes", "401", caller, err)
		<-time.After(usualTTL + time.Nanosecond)
		caller, err = a.Authenticate(withToken(request(), "two"))
		expect(t, "after them, and after a failure", "429", caller, err)
	})
}

// Good tokens are not charged, however many come from one address one after the other: a fleet may be behind one.
func TestGoodTokensAreFree(t *testing.T) {
	u := knows(nil)
	for i := range 1000 {
		u.users[fmt.Sprint(i)] = authenticationv1.UserInfo{Username: fmt.Sprint("user", i)}
	}
	a := tokensOnly(u, nil)
	for i := range 1000 {
		if _, err := a.Authenticate(withToken(request(), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// Addresses that one site has many of are one source, and all together have a limit.
func TestSources(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::ffff:1]:80": "2001:db8::/64",
		"[2001:db8:0:1::1]:80": "2001:db8:0:1::/64", "[::ffff:192.0.2.1]:80": "192.0.2.1/32", "[fe80::1%eth0]:80": "fe80::/64",
		"": "invalid Prefix", "@": "invalid Prefix",
	} {
		if got := sourceOf(address).String(); got != want {
			t.Errorf("%q is of %s, want %s", address, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		u := knows(nil)
		a := tokensOnly(u, nil)
		for i := range 20000 {
			r := withToken(request(), fmt.Sprint(i))
			r.RemoteAddr = fmt.Sprintf("10.%d.%d.1:1", i>>8&255, i&255)
			_, _ = a.Authenticate(r)
		}
		if n := u.asked.Load(); n != 400 {
			t.Errorf("%d reviews of all sources together", n)
		}
		if n := a.tokens.sources.each.Len(); n > maxSources {
			t.Errorf("%d sources are remembered", n)
		}
	})
}
