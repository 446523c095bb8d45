package upstream

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
)

// identities are what of a request's headers says who asks.
func identities(header http.Header) http.Header {
	found := http.Header{}
	for name, values := range header {
		if name == "Authorization" || strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") {
			found[name] = values
		}
	}
	return found
}

// The upstream hears the speaker's identity and no other, whatever the client has sent, and however it says which
// headers are about the connection.
func TestSpeakersIdentity(t *testing.T) {
	bob := &user.DefaultInfo{
		Name: "bob", UID: "u1", Groups: []string{"b", user.AllAuthenticated, "a"}, Extra: map[string][]string{"example.org/scopes": {"x", "y"}},
	}
	for name, c := range map[string]struct {
		as   Speaker
		want http.Header
	}{
		"nobody":            {Speaker{}, http.Header{}},
		"anonymously":       {Anonymously(), http.Header{}},
		"a token":           {WithToken("secret"), http.Header{"Authorization": {"Bearer secret"}}},
		"the facade":        {AsFacade(), http.Header{"Authorization": {"Bearer facades"}}},
		"the kubeconfig":    {AsKubeconfig(), http.Header{"Authorization": {"Bearer facades"}}},
		"a user":            {Impersonating(bob), http.Header{"Authorization": {"Bearer facades"}, "Impersonate-User": {"bob"}, "Impersonate-Uid": {"u1"}, "Impersonate-Group": {"a", "b"}, "Impersonate-Extra-Example.org%2fscopes": {"x", "y"}}},
		"a service account": {Impersonating(&user.DefaultInfo{Name: "system:serviceaccount:a:b", UID: "u", Groups: []string{"g"}}), http.Header{"Authorization": {"Bearer facades"}, "Impersonate-User": {"system:serviceaccount:a:b"}}},
		"a node":            {Impersonating(&user.DefaultInfo{Name: "system:node:n", Groups: []string{"system:nodes"}}), http.Header{"Authorization": {"Bearer facades"}, "Impersonate-User": {"system:node:n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.client.http.Transport = bearer{RoundTripper: r.client.http.Transport, token: "facades"}
				_, _, err := passAs(t, r, c.as, strings.Join([]string{
					"GET /x HTTP/1.1", "Host: a", "Authorization: Bearer stolen", "X-Remote-User: admin", "X-Remote-Group: system:masters",
					"Impersonate-User: admin", "Impersonate-Group: system:masters", "Impersonate-Uid: 0", "Impersonate-Extra-Scopes: all",
					"Connection: Impersonate-User, Authorization, X-Remote-User", "", "",
				}, "\r\n"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, identities(r.Requests("/x")[0].Header)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// What the upstream refuses to the facade is told to nobody else; what it refuses to the caller is his answer.
func TestRefusals(t *testing.T) {
	const (
		impersonating = `{"kind":"Status","message":"users.authentication.k8s.io \"bob\" is forbidden: User \"facade\" cannot impersonate:user-info resource"}`
		older         = `{"kind":"Status","message":"users \"bob\" is forbidden: User \"facade\" cannot impersonate resource \"users\""}`
		bobs          = `{"kind":"Status","message":"secrets is forbidden: User \"bob\" cannot list resource \"secrets\""}`
	)
	asBob := Impersonating(&user.DefaultInfo{Name: "bob"})
	for name, c := range map[string]struct {
		as     Speaker
		code   int
		body   string
		hidden bool
	}{
		"the facade, 403":                   {AsFacade(), 403, bobs, true},
		"the facade, 401":                   {AsFacade(), 401, bobs, true},
		"the facade, 404":                   {AsFacade(), 404, bobs, false},
		"the kubeconfig, 403":               {AsKubeconfig(), 403, bobs, false},
		"a token, 403":                      {WithToken("x"), 403, bobs, false},
		"a token, 401":                      {WithToken("x"), 401, bobs, false},
		"nobody, 401":                       {Anonymously(), 401, bobs, false},
		"impersonated, 403 of his own":      {asBob, 403, bobs, false},
		"impersonated, 401":                 {asBob, 401, bobs, true},
		"impersonated, 403 of the facade":   {asBob, 403, impersonating, true},
		"impersonated, 403 in older words":  {asBob, 403, older, true},
		"impersonated, no 403 at all":       {asBob, 200, impersonating, false},
		"impersonated, 403 without a body":  {asBob, 403, "", false},
		"impersonated, 403 of a large body": {asBob, 403, strings.Repeat("x", 2*maxErrorBody), false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(c.code)
					_, _ = io.WriteString(w, c.body)
				})
				response, body, err := passAs(t, r, c.as, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
				if err != nil {
					t.Fatal(err)
				}
				want, code := c.body, c.code
				if c.hidden {
					want, code = fmt.Sprintf("the upstream answered the facade with %d\n", c.code), http.StatusBadGateway
				}
				if response.StatusCode != code || body != want {
					t.Errorf("%d %.200s", response.StatusCode, body)
				}
			})
		})
	}
}

// A review of oneself is the only request with a body.
func TestOnlyReviewsHaveABody(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var bodies []string
		r.Script("/x", func(_ http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			bodies = append(bodies, q.Method+" "+q.Header.Get("Content-Type")+" "+string(body))
		})
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if _, _, err := passAs(t, r, WithToken("x"), method+" /x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"GET  ", "POST application/json {}"}, bodies); diff != "" {
			t.Error(diff)
		}
	})
}
