package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func tokensOnly(r *reviewer, set func(*AuthenticatorConfig)) *Authenticator {
	c := AuthenticatorConfig{Tokens: r, Anonymous: AnonymousOn}
	if set != nil {
		set(&c)
	}
	return NewAuthenticator(c)
}

// Tokens are found in a request as by kube-apiserver's packages bearertoken and websocket. A request without a valid
// form of a token has no credential, and is anonymous.
func TestTokensAreFoundAsByKubeAPIServer(t *testing.T) {
	encoded := base64.RawURLEncoding.EncodeToString([]byte("good"))
	bad := base64.RawURLEncoding.EncodeToString([]byte("bad"))
	const subprotocol = "base64url.bearer.authorization.k8s.io."
	websocket := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"none":                        {nil, "anonymous:system:anonymous"},
		"a good one":                  {[]string{"Authorization", "Bearer good"}, "token:alice"},
		"lower case":                  {[]string{"Authorization", "bearer good"}, "token:alice"},
		"space around":                {[]string{"Authorization", "  Bearer good "}, "token:alice"},
		"words after it":              {[]string{"Authorization", "Bearer good words"}, "token:alice"},
		"a bad one":                   {[]string{"Authorization", "Bearer bad"}, "401"},
		"an empty one":                {[]string{"Authorization", "Bearer "}, "anonymous:system:anonymous"},
		"no space":                    {[]string{"Authorization", "Bearer"}, "anonymous:system:anonymous"},
		"two spaces":                  {[]string{"Authorization", "Bearer  good"}, "anonymous:system:anonymous"},
		"basic":                       {[]string{"Authorization", "Basic YWxpY2U6cGFzcw=="}, "anonymous:system:anonymous"},
		"two, the first good":         {[]string{"Authorization", "Bearer good", "Authorization", "Bearer bad"}, "token:alice"},
		"two, the first bad":          {[]string{"Authorization", "Bearer bad", "Authorization", "Bearer good"}, "401"},
		"two, the first basic":        {[]string{"Authorization", "Basic x", "Authorization", "Bearer good"}, "anonymous:system:anonymous"},
		"as long as may be":           {[]string{"Authorization", "Bearer " + strings.Repeat("x", maxToken)}, "401"},
		"too long":                    {[]string{"Authorization", "Bearer " + strings.Repeat("x", maxToken+1)}, "401"},
		"not UTF-8":                   {[]string{"Authorization", "Bearer \xff"}, "401"},
		"a subprotocol":               {append([]string{"Sec-Websocket-Protocol", subprotocol + encoded + ", v4.channel.k8s.io"}, websocket...), "token:alice"},
		"a subprotocol, bad":          {append([]string{"Sec-Websocket-Protocol", subprotocol + bad + ", v4.channel.k8s.io"}, websocket...), "401"},
		"a subprotocol alone":         {append([]string{"Sec-Websocket-Protocol", subprotocol + encoded}, websocket...), "401"},
		"a subprotocol, garbled":      {append([]string{"Sec-Websocket-Protocol", subprotocol + "?, v4"}, websocket...), "401"},
		"a subprotocol, twice":        {append([]string{"Sec-Websocket-Protocol", subprotocol + encoded + "," + subprotocol + encoded + ",v4"}, websocket...), "401"},
		"a subprotocol, no websocket": {[]string{"Sec-Websocket-Protocol", subprotocol + encoded + ", v4"}, "anonymous:system:anonymous"},
		"a subprotocol and a bad token": {append([]string{
			"Authorization", "Bearer bad", "Sec-Websocket-Protocol", subprotocol + encoded + ",v4"}, websocket...), "token:alice"},
	} {
		t.Run(name, func(t *testing.T) {
			u := knows(map[string]string{"good": "alice", "\ufffd": "mallory"})
			r := withHeaders(request(), c.headers...)
			caller, err := tokensOnly(u, nil).Authenticate(r)
			expect(t, name, c.want, caller, err)
			if err != nil {
				return
			}
			if r.Header.Get("Authorization") != "" || strings.Contains(strings.Join(r.Header["Sec-Websocket-Protocol"], ","), encoded) && caller.Way == ByToken {
				t.Errorf("got the credential in the headers %q, want none", r.Header)
			}
		})
	}
}

// A token that is too long or not UTF-8 is refused without a review.
func TestMalformedTokensCostNoReview(t *testing.T) {
	u := knows(nil)
	a := tokensOnly(u, nil)
	for _, token := range []string{strings.Repeat("x", maxToken+1), "\xff\xfe"} {
		if _, err := a.Authenticate(withToken(request(), token)); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("got %v, want ErrUnauthenticated", err)
		}
	}
	if n := u.asked.Load(); n != 0 {
		t.Errorf("got %d reviews, want none", n)
	}
}

// The user of a token has the attributes in the review, and the group system:authenticated.
func TestTokenUserIsThatOfTheReview(t *testing.T) {
	u := knows(nil)
	u.users["t"] = authenticationv1.UserInfo{
		Username: "system:serviceaccount:a:b", UID: "u", Groups: []string{"system:serviceaccounts"},
		Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/pod-uid": {"p"}},
	}
	caller, err := tokensOnly(u, nil).Authenticate(withToken(request(), "t"))
	if err != nil {
		t.Fatal(err)
	}
	if got := caller.Info.GetGroups(); !reflect.DeepEqual(got, []string{"system:serviceaccounts", "system:authenticated"}) {
		t.Errorf("got groups %q, want those of the review and system:authenticated", got)
	}
	if caller.Info.GetUID() != "u" || caller.Share() != "system:serviceaccount:a:b/p" || caller.Way != ByToken || !caller.Until.IsZero() {
		t.Errorf("got %+v, want the user of the review", caller)
	}
}

// Results are cached for ten seconds, positive and negative. Then the token is reviewed again.
func TestTokenResultsAreCached(t *testing.T) {
	for token, answers := range map[string][2]string{"good": {"token:alice", "401"}, "late": {"401", "token:bob"}} {
		bubble.Test(t, func(t *testing.T) {
			u := knows(map[string]string{"good": "alice"})
			a := tokensOnly(u, nil)
			check := func(want string, asked int64) {
				t.Helper()
				caller, err := a.Authenticate(withToken(request(), token))
				expect(t, token, want, caller, err)
				if n := u.asked.Load(); n != asked {
					t.Errorf("%s: got %d reviews, want %d", token, n, asked)
				}
			}
			check(answers[0], 1)
			u.users = map[string]authenticationv1.UserInfo{"late": {Username: "bob"}}
			<-time.After(defaultTTL - time.Nanosecond)
			check(answers[0], 1)
			<-time.After(2 * time.Nanosecond)
			check(answers[1], 2)
		})
	}
}

// All requests with the same token share one caller.
func TestTokenCallersAreShared(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := tokensOnly(knows(map[string]string{"good": "alice"}), nil)
		one, _ := a.Authenticate(withToken(request(), "good"))
		two, _ := a.Authenticate(withToken(request(), "good"))
		if one == nil || one != two {
			t.Errorf("got callers %p and %p, want one", one, two)
		}
	})
}

// An unavailable upstream is no refusal of the token, and its result is not cached.
func TestUnavailableIsNoRefusal(t *testing.T) {
	const canary = "canary.canary.canary"
	repeats := `{"kind":"TokenReview","spec":{"token":"` + canary + `"},"status":`
	for name, does := range map[string]func(*reviewer){
		"down": func(r *reviewer) {
			r.do(func(context.Context, authenticationv1.TokenReview) (int, []byte, error) { return 0, nil, errGone })
		},
		"hanging":        func(r *reviewer) { r.do(hangs) },
		"401":            func(r *reviewer) { r.answers(401, repeats+"{}}") },
		"403":            func(r *reviewer) { r.answers(403, repeats+"{}}") },
		"429":            func(r *reviewer) { r.answers(429, repeats+"{}}") },
		"500":            func(r *reviewer) { r.answers(500, repeats+"{}}") },
		"503":            func(r *reviewer) { r.answers(503, "") },
		"HTML":           func(r *reviewer) { r.answers(201, "<html>"+canary) },
		"nothing":        func(r *reviewer) { r.answers(201, "") },
		"a Status":       func(r *reviewer) { r.answers(200, `{"kind":"Status"}`) },
		"an odd review":  func(r *reviewer) { r.answers(201, repeats+`"`+canary+`"}`) },
		"an empty one":   func(r *reviewer) { r.answers(201, `{}`) },
		"another number": func(r *reviewer) { r.answers(204, "") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				u := knows(map[string]string{canary: "alice"})
				does(u)
				a := tokensOnly(u, nil)
				began := time.Now()
				caller, err := a.Authenticate(withToken(request(), canary))
				expect(t, name, "503", caller, err)
				if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "canary") {
					t.Errorf("got an error with the token: %v", err)
				}
				if took := time.Since(began); took > reviewTimeout {
					t.Errorf("got a result after %s, want 5s at most", took)
				}
				u.do(nil)
				caller, err = a.Authenticate(withToken(request(), canary))
				expect(t, "after "+name, "token:alice", caller, err)
			})
		})
	}
}

// Reviews without a user are refusals.
func TestReviewWithoutUserIsRefusal(t *testing.T) {
	for name, status := range map[string]string{
		"no status":                 `{}`,
		"not authenticated":         `{"user":{"username":"alice"}}`,
		"explicitly not":            `{"authenticated":false,"user":{"username":"alice"},"audiences":["a"]}`,
		"with an error":             `{"authenticated":false,"error":"invalid bearer token"}`,
		"no user":                   `{"authenticated":true}`,
		"no user name, with groups": `{"authenticated":true,"user":{"groups":["system:masters"]}}`,
	} {
		bubble.Test(t, func(t *testing.T) {
			u := knows(nil)
			u.answers(201, `{"kind":"TokenReview","status":`+status+`}`)
			a := tokensOnly(u, nil)
			for range 20 {
				caller, err := a.Authenticate(withToken(request(), "t"))
				expect(t, name, "401", caller, err)
			}
			if n := u.asked.Load(); n != 1 {
				t.Errorf("%s: got %d reviews, want 1", name, n)
			}
		})
	}
}

// With configured audiences, the review must return one of them. A review without audiences is a refusal.
func TestTokenNeedsConfiguredAudience(t *testing.T) {
	for answered, want := range map[string]string{
		`["listfacade"]`: "token:alice", `["x","other"]`: "token:alice", `["x"]`: "401", `[]`: "401", `null`: "401", `["Listfacade"]`: "401",
	} {
		u := knows(nil)
		u.do(func(_ context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
			if !reflect.DeepEqual(review.Spec.Audiences, []string{"listfacade", "other"}) {
				t.Errorf("got audiences %q in the review", review.Spec.Audiences)
			}
			return 201, []byte(`{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"alice"},"audiences":` + answered + `}}`), nil
		})
		a := tokensOnly(u, func(c *AuthenticatorConfig) { c.Audiences = []string{"listfacade", "other"} })
		caller, err := a.Authenticate(withToken(request(), "t"))
		expect(t, answered, want, caller, err)
	}
}

// Concurrent requests with the same token share one review. A request that leaves does not cancel it.
func TestConcurrentRequestsShareOneTokenReview(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := knows(map[string]string{"good": "alice"})
		release := make(chan struct{})
		u.do(func(ctx context.Context, _ authenticationv1.TokenReview) (int, []byte, error) {
			select {
			case <-release:
				return 201, []byte(`{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"alice"}}}`), nil
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			}
		})
		a := tokensOnly(u, nil)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := a.Authenticate(withToken(request(), "good").WithContext(ctx))
			left <- err
		}()
		synctest.Wait()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				caller, err := a.Authenticate(withToken(request(), "good"))
				expect(t, "one of many", "token:alice", caller, err)
			})
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the request that left: got %v, want context.Canceled", err)
		}
		close(release)
		all.Wait()
		if n := u.asked.Load(); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
	})
}

// The expiry of a JWT is its claim exp. Other tokens have none.
func TestExpiryIsTheClaimOfAJWT(t *testing.T) {
	jwt := func(payload string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
	}
	for token, want := range map[string]int64{
		jwt(`{"exp":1900000000}`): 1900000000, jwt(`{"exp":1900000000.9}`): 1900000000, jwt(`{"exp":1.9e9}`): 1900000000,
		jwt(`{"exp":"1900000000"}`): 0, jwt(`{"exp":-1}`): 0, jwt(`{"exp":1e300}`): 0, jwt(`{"exp":null}`): 0, jwt(`{}`): 0, jwt(`[]`): 0,
		jwt(`{"exp":1900000000`): 0, "opaque": 0, "a.b.c": 0, "..": 0, "": 0, jwt(`{"exp":1900000000}`) + ".x": 0, "e30.e30=.x": 0,
	} {
		got := expiry(token)
		if want == 0 && !got.IsZero() || want != 0 && got.Unix() != want {
			t.Errorf("%s: got the expiry %s", token, got)
		}
	}
}

// A token is refused after its expiry, even if its cached result is younger than the time to live.
func TestTokenIsRefusedAfterItsExpiry(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		end := time.Now().Add(4 * time.Second).Truncate(time.Second)
		token := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix())) + ".c2ln"
		u := knows(map[string]string{token: "alice"})
		a := tokensOnly(u, nil)
		caller, err := a.Authenticate(withToken(request(), token))
		expect(t, "at first", "token:alice", caller, err)
		if !caller.Until.Equal(end) {
			t.Errorf("got the expiry %s, want %s", caller.Until, end)
		}
		u.users = nil
		<-time.After(time.Until(end) + time.Nanosecond)
		caller, err = a.Authenticate(withToken(request(), token))
		expect(t, "after its end", "401", caller, err)
	})
}

// The cache key of a token depends on the secret of the process.
func TestTokenKeyDependsOnSecret(t *testing.T) {
	a, b := tokensOnly(knows(nil), nil), tokensOnly(knows(nil), nil)
	if a.tokens.key("t") == b.tokens.key("t") {
		t.Error("got the same key in two processes, want different ones")
	}
}

func BenchmarkAuthenticateToken(b *testing.B) {
	token := "e30." + strings.Repeat("x", 900) + ".c2ln"
	a := tokensOnly(knows(map[string]string{token: "alice"}), func(c *AuthenticatorConfig) { c.SuccessTTL = time.Hour })
	r := withToken(request(), token)
	value := r.Header["Authorization"]
	b.ReportAllocs()
	for b.Loop() {
		r.Header = http.Header{"Authorization": value, "Accept": {"application/json"}}
		if _, err := a.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever the header contains: the reviewed token is part of it, and the caller is the user of the review or none.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{"", "good", " good", "good ", "good x", "GOOD", "go\x00od", "\xff", "\ufffd", "\"", "good\n", "é", strings.Repeat("x", maxToken+1)} {
		f.Add("Bearer " + seed)
	}
	f.Add("Basic Z29vZA==")
	f.Add("bearer\tgood")
	f.Fuzz(func(t *testing.T, header string) {
		u := knows(nil)
		u.do(func(_ context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
			if token := review.Spec.Token; !strings.Contains(header, token) || len(token) > maxToken || token == "" {
				t.Errorf("header %q: got a review of %q", header, token)
			}
			if review.Spec.Token != "good" {
				return 201, []byte(`{"kind":"TokenReview"}`), nil
			}
			return 201, []byte(`{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"alice"}}}`), nil
		})
		r := request()
		r.Header["Authorization"] = []string{header}
		caller, err := tokensOnly(u, nil).Authenticate(r)
		switch got := result(caller, err); got {
		case "token:alice":
			if !strings.Contains(header, "good") {
				t.Errorf("header %q: got alice", header)
			}
		case "401", "anonymous:system:anonymous":
		default:
			t.Errorf("header %q: got %s", header, got)
		}
	})
}
