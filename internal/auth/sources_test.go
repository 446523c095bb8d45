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

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Failed tokens are charged to their source. Known tokens from that source pass, and so do other sources.
func TestBadTokensAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
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
			if got := result(caller, err); got == "429" {
				busy++
				var e *BusyError
				if errors.As(err, &e); e.After < time.Second {
					t.Errorf("got a retry after %s, want 1s at least", e.After)
				}
			} else if got != "401" {
				t.Fatal(got)
			}
			<-time.After(time.Millisecond)
		}
		took := time.Since(began)
		if n, most := u.asked.Load()-1, int64(50+10*took.Seconds()+1); n > most || n < 50 || int(n)+busy != 1000 {
			t.Errorf("got %d reviews and %d busy errors in %s", n, busy, took)
		}
		caller, err := from("192.0.2.1:3", "good")
		expect(t, "a known token of the same source", "token:alice", caller, err)
		caller, err = from("192.0.2.1:3", "bad0")
		expect(t, "a known bad token", "401", caller, err)
		caller, err = from("192.0.2.2:1", "other")
		expect(t, "a new token of another source", "token:bob", caller, err)
		<-time.After(10 * time.Second)
		caller, err = from("192.0.2.1:3", "other")
		expect(t, "a new token of the same source, later", "token:bob", caller, err)
		if counts.attempts[TooMany] != busy || counts.attempts[Authenticated] != 4 || counts.reviews[NotAuthenticated]+counts.reviews[Authenticated] != int(u.asked.Load()) {
			t.Errorf("got counts %v and %v for %d reviews", counts.attempts, counts.reviews, u.asked.Load())
		}
	})
}

// Concurrent bad tokens are bounded before the first review ends.
func TestConcurrentBadTokensAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
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
			t.Errorf("got %d reviews, want 50", n)
		}
	})
}

// A token that was valid stays valid, whatever bad tokens come from its address or from many others.
func TestBadTokensRefuseNoValidToken(t *testing.T) {
	for name, c := range map[string]struct {
		sources, each, mine int
		last                string // result of a token that was invalid at its last review
	}{"one address": {1, 12, 1, "429"}, "twelve others": {12, 10, 99, "401"}} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				u := knows(map[string]string{"good": "alice"})
				a := tokensOnly(u, nil)
				from := func(source int, token string) (*Caller, error) {
					r := withToken(request(), token)
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", source)
					return a.Authenticate(r)
				}
				for second := range settings.Amount(20, 120) {
					for i := range c.sources * c.each {
						_, _ = from(1+i%c.sources, fmt.Sprint("bad", second, "-", i))
					}
					caller, err := from(c.mine, "good")
					expect(t, "a good token", "token:alice", caller, err)
					<-time.After(time.Second)
				}
				u.users = nil
				<-time.After(defaultTTL + time.Nanosecond)
				caller, err := from(c.mine, "good")
				expect(t, "a token that is no longer valid", "401", caller, err)
				<-time.After(defaultTTL + time.Nanosecond)
				for i := range 400 {
					_, _ = from(1+i%c.sources, fmt.Sprint("bad", "-", i))
				}
				caller, err = from(c.mine, "good")
				expect(t, "a token that was invalid at its last review", c.last, caller, err)
			})
		})
	}
}

// A token that was valid skips the limits for ten minutes after its cached result expires, but its failure is charged.
func TestValidTokenSkipsLimitsForTenMinutes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := knows(map[string]string{"one": "alice", "two": "bob"})
		a := tokensOnly(u, func(c *AuthenticatorConfig) { c.Failures = FailureLimits{Source: 0.0001, SourceBurst: 1} })
		for token, want := range map[string]string{"one": "token:alice", "two": "token:bob"} {
			caller, err := a.Authenticate(withToken(request(), token))
			expect(t, token, want, caller, err)
		}
		<-time.After(goodTokenTTL)
		u.users = nil
		caller, err := a.Authenticate(withToken(request(), "one"))
		expect(t, "within ten minutes", "401", caller, err)
		<-time.After(defaultTTL + time.Nanosecond)
		caller, err = a.Authenticate(withToken(request(), "two"))
		expect(t, "after ten minutes, and after a failure", "429", caller, err)
	})
}

// Valid tokens are not charged, because many callers may share one address.
func TestValidTokensAreNotCharged(t *testing.T) {
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

// An IPv4 address and a /64 prefix of IPv6 are one source each, and the failures of all sources are bounded.
func TestSourcesAreBoundedInTotal(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::ffff:1]:80": "2001:db8::/64",
		"[2001:db8:0:1::1]:80": "2001:db8:0:1::/64", "[::ffff:192.0.2.1]:80": "192.0.2.1/32", "[fe80::1%eth0]:80": "fe80::/64",
		"": "invalid Prefix", "@": "invalid Prefix",
	} {
		if got := sourceOf(address).String(); got != want {
			t.Errorf("%q: got source %s, want %s", address, got, want)
		}
	}
	bubble.Test(t, func(t *testing.T) {
		u := knows(nil)
		a := tokensOnly(u, nil)
		address := func(i int) string { return fmt.Sprintf("10.%d.%d.1:1", i>>8&255, i&255) }
		began, all := time.Now(), settings.Amount(2000, 20_000)
		for i := range all {
			r := withToken(request(), fmt.Sprint(i))
			r.RemoteAddr = address(i)
			_, _ = a.Authenticate(r)
		}
		if n, most := u.asked.Load(), int64(200+50*time.Since(began).Seconds()+1); n > most || n < int64(all) {
			t.Errorf("got %d reviews of all sources, want from %d to %d", n, all, most)
		}
		for i := range maxSources + 1000 {
			a.tokens.sources.pass(sourceOf(address(i)))
		}
		if n := a.tokens.sources.each.Len(); n > maxSources {
			t.Errorf("got %d sources, want maxSources at most", n)
		}
	})
}

// attack sends bad tokens from each of many networks until the context ends, ten at a time per network. A refused
// request is retried after the delay in its error.
func attack(ctx context.Context, a *Authenticator, networks int) {
	var all sync.WaitGroup
	for i := range networks * 10 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				r := withToken(request(), fmt.Sprint("bad", i, "-", n))
				r.RemoteAddr = fmt.Sprintf("10.0.%d.1:1", i%networks)
				_, err := a.Authenticate(r)
				var busy *BusyError
				if errors.As(err, &busy) {
					<-time.After(busy.After)
				}
			}
		})
	}
	all.Wait()
}

// Any number of failing sources cause no refusal of a source without failures.
func TestBadTokensOfManyRefuseNoOtherSource(t *testing.T) {
	for _, networks := range []int{20, 200} {
		t.Run(fmt.Sprint(networks), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				u := knows(nil)
				for i := range 16 {
					u.users[fmt.Sprint("good", i)] = authenticationv1.UserInfo{Username: fmt.Sprint("user", i)}
				}
				a := tokensOnly(u, nil)
				ctx, stop := context.WithCancel(t.Context())
				var attackers sync.WaitGroup
				attackers.Go(func() { attack(ctx, a, networks) })
				began := time.Now()
				for i := range 16 {
					if i%8 == 0 {
						<-time.After(5 * time.Second)
					}
					r := withToken(request(), fmt.Sprint("good", i))
					r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i*12, 2+i) // most of them next to an attacker
					asked := time.Now()
					caller, err := a.Authenticate(r)
					expect(t, "a new token", fmt.Sprint("token:user", i), caller, err)
					if took := time.Since(asked); took > time.Second {
						t.Errorf("got a new token accepted after %s, want 1s at most", took)
					}
				}
				failed := u.asked.Load() - 16
				if most := int64(400 + 100*time.Since(began).Seconds() + 1); failed > most {
					t.Errorf("got %d reviews of bad tokens, want %d at most", failed, most)
				}
				stop()
				attackers.Wait()
			})
		})
	}
}

// The addresses of one network share its turns. When too many requests wait, some of that network are refused.
func TestAddressesOfOneNetworkShareTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := knows(map[string]string{"good": "alice"})
		a := tokensOnly(u, nil)
		var all sync.WaitGroup
		requests := settings.Amount(maxWaiting+500, 4000)
		results := make(chan string, requests)
		for i := range requests {
			all.Go(func() {
				r := withToken(request(), fmt.Sprint("bad", i))
				r.RemoteAddr = fmt.Sprintf("[2001:db8:0:%x::1]:1", i)
				caller, err := a.Authenticate(r)
				results <- result(caller, err)
			})
		}
		synctest.Wait()
		r, began := withToken(request(), "good"), time.Now()
		r.RemoteAddr = "[2001:db8:1::1]:1"
		caller, err := a.Authenticate(r)
		if expect(t, "a new token of another network", "token:alice", caller, err); time.Since(began) > 0 {
			t.Errorf("got the token accepted after %s, want immediately", time.Since(began))
		}
		all.Wait()
		close(results)
		got := map[string]int{}
		for result := range results {
			got[result]++
		}
		// Half of the seats immediately, and 50 per second during the wait.
		if most := 100 + int(50*seatWait.Seconds()); got["401"] < 100 || got["401"] > most || got["401"]+got["429"] != requests {
			t.Errorf("got %v, want from 100 to %d failures and a result for each request", got, most)
		}
	})
}

// A source that shares a token with a failing source waits only for a seat of its own.
func TestSharedTokenWaitsForItsOwnSource(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := tokensOnly(knows(map[string]string{"shared": "alice"}), func(c *AuthenticatorConfig) {
			// One failure in twelve seconds for clean sources, and one for other sources.
			c.Failures = FailureLimits{Source: 10, SourceBurst: 50, Total: 2.0 / 12, TotalBurst: 2}
		})
		from := func(address, token string) (*Caller, error) {
			r := withToken(request(), token)
			r.RemoteAddr = address
			return a.Authenticate(r)
		}
		for i := range 2 {
			caller, err := from("192.0.2.1:1", fmt.Sprint("bad", i))
			expect(t, "a bad token", "401", caller, err)
			<-time.After(time.Second)
		}
		var all sync.WaitGroup
		all.Go(func() {
			caller, err := from("192.0.2.1:1", "shared")
			expect(t, "from the source that failed", "429", caller, err)
		})
		synctest.Wait()
		caller, err := from("192.0.2.2:1", "shared")
		expect(t, "from the other source", "token:alice", caller, err)
		all.Wait()
	})
}

// A network is a /24 prefix of IPv4, or a /48 prefix of IPv6.
func TestNetworkOfASource(t *testing.T) {
	for address, want := range map[string]limit.Key{
		"192.0.2.1:80":        {Group: "192.0.2.0/24", One: "192.0.2.1/32"},
		"[2001:db8:0:1::1]:1": {Group: "2001:db8::/48", One: "2001:db8:0:1::/64"},
		"@":                   {Group: "invalid Prefix", One: "invalid Prefix"},
	} {
		if got := priorityOf(sourceOf(address)); got != want {
			t.Errorf("%s: got queue key %v, want %v", address, got, want)
		}
	}
}
