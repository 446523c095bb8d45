package auth

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// A review of the first token shows the audience. Every other one costs no review, and has the user of a review.
func TestBoundTokensCostNoReview(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		for n := range 3 {
			token := v.token(fmt.Sprint("pod-", n), nil)
			v.sends(t, token, robot, 0)
			v.sends(t, token, robot, 0)
			verified, err := v.Authenticate(withToken(request(), token))
			if err != nil {
				t.Fatal(err)
			}
			reviewed, err := tokensOnly(v.reviewer, nil).Authenticate(withToken(request(), token))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(verified, reviewed) {
				t.Errorf("got caller %+v, want that of the review %+v", verified, reviewed)
			}
		}
		if got := v.counts.tokens; got[ByVerification] != 9 || got[ByReview] != 1 {
			t.Errorf("got %v, want 9 tokens accepted without and one with a review", got)
		}
	})
}

// Tokens that arrive before the audience is known wait for one review. All of them may have one address.
func TestConcurrentTokensShareALesson(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		release := make(chan struct{})
		answer := v.answerTo
		v.do(func(_ context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
			<-release
			return answer(review)
		})
		var wait sync.WaitGroup
		for n := range manyTokens {
			token := v.token(fmt.Sprint("pod-", n), nil)
			wait.Go(func() {
				caller, err := v.Authenticate(withToken(request(), token))
				expect(t, "a token", robot, caller, err)
			})
		}
		synctest.Wait()
		close(release)
		wait.Wait()
		if got := v.reviewer.asked.Load(); got != 1 {
			t.Errorf("got %d reviews for %d tokens, want 1", got, manyTokens)
		}
	})
}

// manyTokens is a number of tokens far above the number of reviews that a source may have under way.
const manyTokens = 200

// A token with a wrong signature is a failure of its source. Other sources' tokens are verified nevertheless.
func TestWrongSignaturesAreCharged(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		unseen := v.token("unseen", nil)
		v.rotate("one") // with the ID of the published key
		from := func(address, token string) string {
			r := withToken(request(), token)
			r.RemoteAddr = address
			return result(v.Authenticate(r))
		}
		before := v.reviewer.asked.Load()
		var wait sync.WaitGroup
		for n := range manyTokens {
			token := v.token(fmt.Sprint("pod-", n), nil)
			v.revoke(token)
			wait.Go(func() {
				if got := from("192.0.2.1:1", token); got != "401" && got != "429" {
					t.Errorf("got %s for a wrong signature, want 401 or 429", got)
				}
			})
		}
		wait.Wait()
		if got := v.reviewer.asked.Load() - before; got != 50 {
			t.Errorf("got %d reviews of tokens with wrong signatures, want 50", got)
		}
		if got := from("192.0.2.1:2", unseen); got != "429" {
			t.Errorf("got %s for a new token of the source that used up its failures, want 429", got)
		}
		if got := from("192.0.2.2:1", unseen); got != robot {
			t.Errorf("got %s for a token of another source, want %s", got, robot)
		}
	})
}

// What makes a token doubtful sends it to a review, at the first request after it.
func TestDoubtfulTokensAreReviewed(t *testing.T) {
	for name, change := range map[string]func(v verifying, token string){
		"account deleted":   func(v verifying, _ string) { v.remove("serviceaccounts/ns/robot") },
		"account recreated": func(v verifying, _ string) { v.show("serviceaccounts/ns/robot", "2") },
		"pod deleted":       func(v verifying, _ string) { v.remove("pods/ns/p") },
		"pod recreated":     func(v verifying, _ string) { v.show("pods/ns/p", "2") },
		"pod due to be deleted": func(v verifying, _ string) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.objects["pods/ns/p"] = serviceaccount.Object{UID: "uid-p", Deletes: time.Now().Add(-time.Second)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			verify(t, func(t *testing.T, v verifying) {
				v.learnsAudience(t)
				token := v.token("p", nil)
				v.sends(t, token, robot, 0)
				change(v, token)
				v.revoke(token)
				v.sends(t, token, "401", 1)
				v.sends(t, token, "401", 0) // as after any review
			})
		})
	}
}

// Tokens that the facade cannot judge are reviewed, also if they are valid.
func TestOtherTokensAreReviewed(t *testing.T) {
	for name, c := range map[string]struct {
		claims  map[string]any
		reviews int64
	}{
		"another audience":    {map[string]any{"aud": []string{"vault"}}, 1},
		"one of two":          {map[string]any{"aud": []string{"vault", apiAudience}}, 0},
		"no audience":         {map[string]any{"aud": []string{}}, 1},
		"another issuer":      {map[string]any{"iss": "https://other"}, 1},
		"expired":             {map[string]any{"exp": 946684800 - 1}, 1}, // time in the test begins in the year 2000
		"not yet valid":       {map[string]any{"nbf": 946684800 + 90}, 1},
		"valid within leeway": {map[string]any{"nbf": 946684800 + 30}, 0},
		"an unknown claim":    {map[string]any{"groups": []string{"system:masters"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			verify(t, func(t *testing.T, v verifying) {
				v.learnsAudience(t)
				v.sends(t, v.token("p", c.claims), robot, c.reviews)
			})
		})
	}
}

// A key that is no longer published stops to count within ten seconds, as a cached review does.
func TestRemovedKeysAreForgotten(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		token := v.token("p", nil)
		v.sends(t, token, robot, 0)
		v.rotate("two")
		v.publish()
		v.revoke(token)
		<-time.After(2*keysEvery + 1) // before a token is reviewed again
		v.sends(t, token, "401", 1)
	})
}

// A new key is requested for the first token that was signed with it, at most once a second.
func TestNewKeysAreRequestedAtOnce(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		<-time.After(keysAgain)
		v.rotate("two")
		v.publish()
		v.sends(t, v.token("p", nil), robot, 0)
		requests := v.requests()
		v.rotate("three") // which is never published
		for n := range 20 {
			v.sends(t, v.token(fmt.Sprint("q-", n), nil), robot, 1)
		}
		if got := v.requests() - requests; got != 0 {
			t.Errorf("got %d requests for keys within a second, want 0", got)
		}
		<-time.After(keysAgain)
		for n := range 20 {
			v.sends(t, v.token(fmt.Sprint("r-", n), nil), robot, 1)
		}
		if got := v.requests() - requests; got != 2 {
			t.Errorf("got %d requests for keys, want those of one refresh", got)
		}
	})
}

// While keys cannot be read, tokens are reviewed. Each second, at most one token waits for them.
func TestTokensAreReviewedWithoutKeys(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		for _, code := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusOK} {
			v.set(serviceaccount.KeysPath, code, "{}")
			for n := range 5 {
				v.sends(t, v.token(fmt.Sprint("p-", code, n), nil), robot, 1)
			}
			<-time.After(keysFailed)
		}
		v.publish()
		<-time.After(keysEvery)
		v.sends(t, v.token("first", nil), robot, 1)
		v.sends(t, v.token("p", nil), robot, 0)
	})
}

// The keys are requested while tokens need them, and not for a facade without such tokens.
func TestKeysAreRequestedOnlyWhileNeeded(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.sends(t, "no service account token", "401", 1)
		<-time.After(time.Hour)
		if got := v.requests(); got != 0 {
			t.Errorf("got %d requests for keys, want none before the first token", got)
		}
		v.learnsAudience(t)
		<-time.After(2 * keysIdle)
		requests := v.requests()
		<-time.After(time.Hour)
		if got := v.requests(); got != requests {
			t.Errorf("got %d more requests for keys, want none", got-requests)
		}
	})
}

// One token of an audience is reviewed each ten seconds. If that review refuses it, the others are reviewed, too.
func TestAudiencesAreConfirmed(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		token, other := v.token("p", nil), v.token("q", nil)
		v.sends(t, token, robot, 0)
		v.sends(t, other, robot, 0)
		<-time.After(confirmEvery)
		v.sends(t, token, robot, 1)
		v.sends(t, other, robot, 0)
		<-time.After(confirmEvery + 1) // the last review is no longer cached
		v.revoke(token)
		v.revoke(other)
		v.sends(t, token, "401", 1)
		v.sends(t, other, "401", 1)
	})
}

// A caller that leaves does not end the review that confirms an audience.
func TestConfirmationOutlivesItsCaller(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		token := v.token("p", nil)
		v.sends(t, token, robot, 0)
		<-time.After(confirmEvery)
		v.do(func(ctx context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
			if ctx.Err() != nil {
				return 0, nil, ctx.Err()
			}
			return v.answerTo(review)
		})
		v.revoke(token)
		ctx, leave := context.WithCancel(t.Context())
		leave()
		_, _ = v.Authenticate(withToken(request(), token).WithContext(ctx))
		v.sends(t, token, "401", 0) // the review has refused it
	})
}

// The review of a token with several audiences shows which of them the upstream accepts no longer.
func TestAudiencesAreForgottenOneByOne(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		accepted := []string{apiAudience, "second"}
		v.do(func(_ context.Context, review authenticationv1.TokenReview) (int, []byte, error) {
			code, body, err := v.answerTo(review)
			return code, bytes.Replace(body, []byte(`"audiences":["`+apiAudience+`"]`),
				[]byte(`"audiences":["`+strings.Join(accepted, `","`)+`"]`), 1), err
		})
		both := v.token("p", map[string]any{"aud": accepted})
		second := v.token("q", map[string]any{"aud": accepted[1:]})
		v.sends(t, both, robot, 1)
		v.sends(t, second, robot, 0)
		<-time.After(confirmEvery + 1) // the first review is no longer cached
		accepted = accepted[:1]
		v.revoke(second)
		v.sends(t, both, robot, 1)
		v.sends(t, second, "401", 1)
	})
}

// A token that a review refused is reviewed until a review accepts it, even if nothing else speaks against it.
func TestRefusedTokensAreReviewed(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		token := v.token("p", nil)
		v.sends(t, token, robot, 0)
		<-time.After(confirmEvery)
		v.revoke(token)
		v.sends(t, token, "401", 1)
		v.sends(t, v.token("q", nil), robot, 1) // shows the audience again
		<-time.After(2)                         // the refusal is no longer cached
		v.sends(t, token, "401", 1)
		v.sends(t, v.token("r", nil), robot, 0)
	}, func(c *AuthenticatorConfig) { c.FailureTTL = 1 })
}

// If the upstream names another user than the token, all tokens are reviewed.
func TestOtherUsersOfReviewsCount(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		for n := range 3 {
			token := v.token(fmt.Sprint("p-", n), nil)
			v.users[token] = authenticationv1.UserInfo{Username: "system:serviceaccount:ns:other"}
			v.sends(t, token, robot[:len(robot)-len("robot")]+"other", 1)
		}
	})
}

// While the upstream does not answer, valid tokens count as long as its keys do.
func TestTokensCountWhileReviewsFail(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		token := v.token("p", nil)
		v.sends(t, token, robot, 0)
		<-time.After(confirmEvery)
		v.answers(http.StatusTooManyRequests, "")
		v.sends(t, token, robot, 1)
		v.sends(t, token, robot, 0)
		v.set(serviceaccount.KeysPath, http.StatusServiceUnavailable, "")
		<-time.After(keysFor)
		v.sends(t, token, "503", 1)
	})
}

// Forged tokens exhaust the failures of their source, as all invalid tokens do. Each costs at most one verification.
func TestForgedTokensAreLimited(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.learnsAudience(t)
		forger := newIssuer(t)
		forger.id = v.id
		refused := 0
		for n := range 200 {
			_, err := v.Authenticate(withToken(request(), forger.token(fmt.Sprint("p-", n), nil)))
			if result(nil, err) == "429" {
				refused++
			}
		}
		if got := v.reviewer.asked.Load(); got > 60 || refused < 140 {
			t.Errorf("got %d reviews and %d refusals for 200 forged tokens, want about 50 reviews", got, refused)
		}
	})
}

// A review of the facade's own token shows the audience before the first caller.
func TestOwnTokenTeaches(t *testing.T) {
	var own string
	verify(t, func(t *testing.T, v verifying) {
		own = v.token("facade", nil)
		if err := v.CanReview(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.sends(t, v.token("p", nil), robot, 0)
	}, func(c *AuthenticatorConfig) { c.Bound.Own = func() string { return own } })
}

// Configured audiences replace those of the upstream.
func TestConfiguredAudiencesCount(t *testing.T) {
	verify(t, func(t *testing.T, v verifying) {
		v.sends(t, v.token("p", nil), "401", 1) // the review is valid for the API audience only
		v.sends(t, v.token("q", nil), "401", 1)
	}, func(c *AuthenticatorConfig) { c.Audiences = []string{"vault"} })
}
