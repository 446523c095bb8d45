package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

const refusedToken = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOlsib3RoZXIiXX0.c2lnbmF0dXJl"

// The operator learns from the log why a token is refused. The log contains no part of a token, and at most the
// beginning of a long reason. A cached refusal causes no line.
func TestRefusalsOfTokensAreLogged(t *testing.T) {
	const audience = `[invalid bearer token, token audiences ["other"] is invalid for the target audiences ["a"]]`
	long := strings.Repeat("x", maxRefusal-1)
	for name, c := range map[string]struct {
		status authenticationv1.TokenReviewStatus
		want   string
	}{
		"other audience":         {authenticationv1.TokenReviewStatus{Error: audience}, audience},
		"no reason":              {authenticationv1.TokenReviewStatus{}, ErrUnauthenticated.Error()},
		"the token":              {authenticationv1.TokenReviewStatus{Error: "unknown: " + refusedToken}, withheld},
		"its last part":          {authenticationv1.TokenReviewStatus{Error: refusedToken[len(refusedToken)-tokenPart:]}, withheld},
		"the token behind a cut": {authenticationv1.TokenReviewStatus{Error: long + refusedToken}, long + refusedToken[:1]},
		"a long one":             {authenticationv1.TokenReviewStatus{Error: long + "ä"}, long},
		"a user without a name":  {authenticationv1.TokenReviewStatus{Authenticated: true}, notAuthenticated(errNoName).Error()},
	} {
		t.Run(name, func(t *testing.T) {
			u := knows(nil)
			u.do(func(_ context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
				review.Kind, review.Status = "TokenReview", c.status
				answer, err := json.Marshal(review)
				return http.StatusCreated, answer, err
			})
			core, logs := observer.New(zap.InfoLevel)
			a := tokensOnly(u, func(c *AuthenticatorConfig) { c.Log = zap.New(core) })
			for range 2 {
				caller, err := a.Authenticate(withToken(request(), refusedToken))
				expect(t, name, "401", caller, err)
			}
			all := logs.FilterMessage("Upstream refused a token").All()
			if len(all) != 1 || logs.Len() != 1 {
				t.Fatalf("got the lines %v, want one about the refusal", logs.All())
			}
			fields := all[0].ContextMap()
			if fields["reason"] != c.want || fields["source"] != sourceOf(request().RemoteAddr).String() {
				t.Errorf("got %v, want the reason %q and the source", fields, c.want)
			}
		})
	}
}

// A webhook may change how it writes a token. A reason may still name the claims of a JWT.
func TestReasonWithPartOfTokenIsWithheld(t *testing.T) {
	jwt := func(claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("a signature"))
	}
	const audience = `token audiences ["https://other.example"] is invalid for the target audiences ["a"]`
	for name, c := range map[string]struct {
		reason, token string
		withheld      bool
	}{
		"unchanged":          {"unknown: hunter2-swordfish", "hunter2-swordfish", true},
		"divided":            {"unknown: hunt er2-sw ordf", "hunter2-swordfish", true},
		"escaped":            {`unknown: a\/b\/c\/d\/e\/f\/g\/h`, "a/b/c/d/e/f/g/h", true},
		"upper case":         {"unknown: SWORDFISH", "hunter2-swordfish", true},
		"only other bytes":   {"unknown: ----====", "----====", true},
		"only other letters": {"unknown", "----====", false},
		"few letters":        {"unknown", "-k-n-=======", false},
		"a short segment":    {"unknown", base64.StdEncoding.EncodeToString([]byte("know")) + ".f395accd246ae52d", false},
		"a short token":      {"unknown: abc", "abc", true},
		"other text":         {"unknown token of a user", "hunter2-swordfish", false},
		"basic":              {"wrong password swordfish", base64.StdEncoding.EncodeToString([]byte("al:swordfish?>")), true},
		"basic in a URL":     {"wrong password swordfish", base64.URLEncoding.EncodeToString([]byte("al:swordfish?>")), true},
		"one segment":        {"wrong password swordfish", "v1." + base64.RawStdEncoding.EncodeToString([]byte("swordfish")), true},
		"claim":              {audience, jwt(`{"aud":["https://other.example"]}`), false},
		"signature":          {"signature: a signature", jwt(`{}`), true},
		"part of a JWT":      {"token " + jwt(`{"aud":["x"]}`)[20:40], jwt(`{"aud":["x"]}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.reason
			if c.withheld {
				want = withheld
			}
			if got := printableRefusal(c.reason, c.token); got != want {
				t.Errorf("got %q for the token %q, want %q", got, c.token, want)
			}
		})
	}
}

// A source, and any number of sources with the same reason, leave lines for the refusals of others.
func TestRefusalsDoNotDisplaceThoseOfOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		r := &refusals{log: zap.New(core)}
		of := func(source int, reason string) refusal {
			return refusal{netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/32", source)), reason}
		}
		flood := func() {
			for range 2 {
				for i := range 100 {
					r.note(of(1, fmt.Sprint("invented ", i)))
					r.note(of(2+i, "invalid bearer token"))
				}
			}
		}
		for range 2 {
			flood()
			r.note(of(200, "other audience"))
			flood()
			r.note(of(201, "one too many"))
			var got []string
			for _, line := range logs.TakeAll() {
				got = append(got, fmt.Sprint(line.ContextMap()["source"], " ", line.ContextMap()["reason"]))
			}
			if want := []string{"10.0.0.1/32 invented 0", "10.0.0.2/32 invalid bearer token", "10.0.0.1/32 invented 1",
				"10.0.0.3/32 invalid bearer token", "10.0.0.200/32 other audience"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			<-time.After(time.Minute)
		}
	})
}

// A token that the upstream accepts, but not for the configured audiences, is refused for that reason.
func TestRefusalNamesOtherAudiences(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	a := tokensOnly(knows(map[string]string{"good": "alice"}), func(c *AuthenticatorConfig) {
		c.Log, c.Audiences = zap.New(core), []string{"facade"}
	})
	caller, err := a.Authenticate(withToken(request(), "good"))
	expect(t, "other audiences", "401", caller, err)
	if logs.FilterField(zap.String("reason", "token is valid for other audiences only")).Len() != 1 {
		t.Errorf("got the lines %v, want the reason", logs.All())
	}
}
