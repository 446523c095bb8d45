package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/testkit"
)

var alice = &user.DefaultInfo{
	Name: "alice", UID: "7", Groups: []string{"devs", "täm", "system:authenticated"},
	Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"X509SHA256=1"}, "ex.io/a:b": {"x", "y"}},
}

func impersonating(t *testing.T, info user.Info) Credentials {
	t.Helper()
	as, err := Impersonating(info)
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// Each kind of credentials sends its own headers and no others, whatever the client sends.
func TestCredentialsHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		as   Credentials
		want http.Header
	}{
		"kubeconfig": {AsKubeconfig(), http.Header{"Authorization": {"Bearer facades"}}},
		"facade":     {AsFacade(), http.Header{"Authorization": {"Bearer facades"}}},
		"token":      {WithToken("callers"), http.Header{"Authorization": {"Bearer callers"}}},
		"impersonating": {impersonating(t, alice), http.Header{
			"Authorization": {"Bearer facades"}, "Impersonate-User": {"alice"}, "Impersonate-Uid": {"7"}, "Impersonate-Group": {"devs", "täm"},
			"Impersonate-Extra-Authentication.kubernetes.io%2fcredential-Id": {"X509SHA256=1"}, "Impersonate-Extra-Ex.io%2fa%3ab": {"x", "y"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				config := r.Config()
				config.BearerToken = "facades"
				var err error
				if r.client, err = NewClient(config, Hop{}); err != nil {
					t.Fatal(err)
				}
				defer r.client.CloseIdle()
				_, _, err = passAs(t, r, c.as, strings.Join([]string{
					"GET /x HTTP/1.1", "Host: a", "Authorization: Bearer stolen", "Impersonate-User: admin", "Impersonate-Group: system:masters", "Impersonate-Uid: 1",
					"Impersonate-Extra-A: b", "X-Remote-User: admin", "Connection: Authorization, Impersonate-User", "", "",
				}, "\r\n"))
				if err != nil {
					t.Fatal(err)
				}
				got := r.Requests("/x")[0].Header
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if strings.Contains(fmt.Sprintf("%+v %#v", c.as, struct{ s Credentials }{c.as}), "callers") {
					t.Error("a token is printed")
				}
			})
		})
	}
}

// kubernetesGroups returns the groups that kube-apiserver gives to a user impersonated with these headers
// (k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go).
func kubernetesGroups(header http.Header) []string {
	name, groups := header.Get("Impersonate-User"), header["Impersonate-Group"]
	switch {
	case strings.HasPrefix(name, "system:serviceaccount:"):
		groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + strings.Split(name, ":")[2]}
	case strings.HasPrefix(name, "system:node:"):
		groups = []string{"system:nodes"}
	}
	added := "system:authenticated"
	if name == "system:anonymous" {
		added = "system:unauthenticated"
	}
	for _, group := range groups {
		if group == added || group == "system:unauthenticated" {
			return groups
		}
	}
	return append(groups, added)
}

// An impersonated user has exactly the groups of the original. Impersonation is refused if the groups would differ, or
// if an attribute that may limit the user would be lost.
func TestImpersonatedUsers(t *testing.T) {
	for name, c := range map[string]struct {
		info user.DefaultInfo
		want string // names of the headers; empty for a refusal
	}{
		"a user":                     {*alice, "Extra Extra Group Uid User"},
		"no group but the added one": {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}}, "User"},
		"an unauthenticated user":    {user.DefaultInfo{Name: "bob", Groups: []string{"a", "system:unauthenticated"}}, "Group User"},
		"a user in both groups":      {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated", "system:unauthenticated"}}, "Group User"},
		"anonymous":                  {user.DefaultInfo{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}, "User"},
		"a service account": {user.DefaultInfo{
			Name: "system:serviceaccount:ns:sa", UID: "7", Groups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:ns"},
			Extra: map[string][]string{"authentication.kubernetes.io/pod-uid": {"1"}, "authentication.kubernetes.io/credential-id": {"2"}},
		}, "User"},
		"a node": {user.DefaultInfo{
			Name: "system:node:n1", Groups: []string{"system:nodes", "system:authenticated"}, Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"2"}},
		}, "User"},

		"no name":                           {user.DefaultInfo{Groups: []string{"system:authenticated"}}, ""},
		"a missing group":                   {user.DefaultInfo{Name: "bob", Groups: []string{"a"}}, ""},
		"system:anonymous in other groups":  {user.DefaultInfo{Name: "system:anonymous", Groups: []string{"a"}}, ""},
		"masters":                           {user.DefaultInfo{Name: "root", Groups: []string{"system:masters", "system:authenticated"}}, ""},
		"a service account by its name":     {user.DefaultInfo{Name: "system:serviceaccount:ns:sa", Groups: []string{"system:authenticated"}}, ""},
		"a service account in other groups": {user.DefaultInfo{Name: "system:serviceaccount:ns:sa", Groups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:kube-system"}}, ""},
		"a service account within scopes": {user.DefaultInfo{
			Name: "system:serviceaccount:ns:sa", Groups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:ns"},
			Extra: map[string][]string{"scopes.authorization.openshift.io": {"user:info"}},
		}, ""},
		"a node by its name":               {user.DefaultInfo{Name: "system:node:n1", Groups: []string{"system:authenticated"}}, ""},
		"a node in more groups":            {user.DefaultInfo{Name: "system:node:n1", Groups: []string{"system:nodes", "a", "system:authenticated"}}, ""},
		"extra without a domain":           {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"scopes": {"a"}}}, ""},
		"extra in capitals":                {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"ex.io/A": {"a"}}}, ""},
		"extra without values":             {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"ex.io/a": {}}}, ""},
		"an empty extra value":             {user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"ex.io/a": {""}}}, ""},
		"a name that a header would trim":  {user.DefaultInfo{Name: " admin", Groups: []string{"system:authenticated"}}, ""},
		"a group that a header would trim": {user.DefaultInfo{Name: "bob", Groups: []string{"admins\t", "system:authenticated"}}, ""},
		"a group of two lines":             {user.DefaultInfo{Name: "bob", Groups: []string{"a\r\nImpersonate-Group: admins", "system:authenticated"}}, ""},
		"an empty group":                   {user.DefaultInfo{Name: "bob", Groups: []string{"", "system:authenticated"}}, ""},
	} {
		as, err := Impersonating(&c.info)
		var refused *ImpersonationError
		if c.want == "" {
			if !errors.As(err, &refused) || as.sign != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		header := http.Header{}
		as.sign(header)
		if !sameSet(kubernetesGroups(header), c.info.Groups) {
			t.Errorf("%s: got groups %q, want the user's own", name, kubernetesGroups(header))
		}
		var kinds []string
		for _, kind := range []string{"Extra", "Group", "Uid", "User"} {
			for key := range header {
				if strings.HasPrefix(key, "Impersonate-"+kind) {
					kinds = append(kinds, kind)
				}
			}
		}
		if got := strings.Join(kinds, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

const (
	facadeForbidden = `{"kind":"Status","status":"Failure","message":"pods is forbidden: User \"facade\" cannot list resource \"pods\"","code":403}`
	aliceForbidden  = `{"kind":"Status","status":"Failure","message":"pods is forbidden: User \"alice\" cannot list resource \"pods\"","code":403}`
	notImpersonated = `{"kind":"Status","status":"Failure","message":"pods is forbidden: User \"facade\" cannot impersonate-on:user-info:list resource \"pods\"","code":403}`
	legacyRefusal   = `k8s` + "\x00" + `users "alice" is forbidden: User "facade" cannot impersonate resource "users" in API group ""`
	foldedRefusal   = "kind: Status\nmessage: 'users \"alice\" is forbidden: User \"facade\" cannot\n  impersonate:user-info resource'\n"
)

// A refusal of the facade's own user is not sent to another client.
func TestRefusalsOfTheFacadesUser(t *testing.T) {
	asAlice := impersonating(t, alice)
	for _, c := range []struct {
		as     Credentials
		code   int
		body   string
		passed bool
	}{
		{AsKubeconfig(), 403, facadeForbidden, true},
		{AsKubeconfig(), 401, "Unauthorized", true},
		{AsFacade(), 403, facadeForbidden, false},
		{AsFacade(), 401, "Unauthorized", false},
		{AsFacade(), 404, "not there", true},
		{WithToken("x"), 403, aliceForbidden, true},
		{WithToken("x"), 401, "Unauthorized", true},
		{asAlice, 401, "Unauthorized", false},
		{asAlice, 403, aliceForbidden, true},
		{asAlice, 403, aliceForbidden + strings.Repeat("x", maxErrorBody), true},
		{asAlice, 403, notImpersonated, false},
		{asAlice, 403, legacyRefusal, false},
		{asAlice, 403, foldedRefusal, false},
		{asAlice, 404, notImpersonated, true},
	} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			})
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil)
			w := httptest.NewRecorder()
			err := NewPassThrough(r.client).Serve(w, request, c.as, nil)
			var refused *RefusedError
			if c.passed {
				if err != nil || w.Code != c.code || w.Body.String() != c.body {
					t.Errorf("%d %.80s: %v %d %.80q", c.code, c.body, err, w.Code, w.Body)
				}
				return
			}
			if !errors.As(err, &refused) || refused.Code != c.code || string(refused.Body) != c.body {
				t.Errorf("%d %s: %v", c.code, c.body, err)
			}
			if w.Body.Len() != 0 || len(w.Header()) != 0 {
				t.Errorf("%d %s: got response %q, want none", c.code, c.body, w.Body)
			}
			answer, err := NewPassThrough(r.client).Open(request, c.as)
			if !errors.As(err, &refused) {
				answer.Body.Close()
				t.Errorf("%d %s: Open succeeded", c.code, c.body)
			}
		})
	}
}

// A refusal that cannot be read is not forwarded, because it may contain the facade's user name.
func TestCompressedRefusalIsNotForwarded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "compressed")
		})
		err := NewPassThrough(r.client).Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil), impersonating(t, alice), nil)
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Error(err)
		}
	})
}

// Requests without credentials, writes, and ambiguous paths or queries are not sent.
func TestRequestsThatAreNotSent(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		many := "/x?a=1" + strings.Repeat("&a=1", mostParameters)
		for _, c := range []struct {
			as             Credentials
			method, target string
		}{
			{Credentials{}, "GET", "/x"}, {WithToken(""), "GET", "/x"},
			{AsKubeconfig(), "GET", many}, {AsKubeconfig(), "OPTIONS", "*"},
			{AsKubeconfig(), "POST", "/x"}, {AsKubeconfig(), "DELETE", "/x"}, {AsKubeconfig(), "PUT", "/x"}, {AsKubeconfig(), "PATCH", "/x"},
			{AsKubeconfig(), "POST", "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews"},
			{AsKubeconfig(), "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x"},
			{AsKubeconfig(), "POST", "/apis/authorization.k8s.io//selfsubjectaccessreviews"},
			{AsKubeconfig(), "DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"},
		} {
			w := httptest.NewRecorder()
			err := NewPassThrough(r.client).Serve(w, httptest.NewRequestWithContext(t.Context(), c.method, c.target, nil), c.as, nil)
			if err == nil || w.Body.Len() != 0 {
				t.Errorf("%s %.60s: %v %q", c.method, c.target, err, w.Body)
			}
		}
		if n := r.Asked("/x") + r.Asked("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"); n != 0 {
			t.Errorf("got %d requests to the upstream, want none", n)
		}
	})
}

// A client's review is sent with its body and Content-Type. The body of a read is dropped.
func TestReviewsAreForwarded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		for _, path := range []string{
			"/apis/authentication.k8s.io/v1/selfsubjectreviews", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
		} {
			var seen string
			r.Script(testkit.Ask(path), func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				seen = q.Method + " " + q.Header.Get("Content-Type") + " " + string(body)
				w.WriteHeader(http.StatusCreated)
			})
			ask := func(size int) error {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(strings.Repeat("x", size)))
				request.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf")
				return NewPassThrough(r.client).Serve(httptest.NewRecorder(), request, WithToken("x"), nil)
			}
			if err := ask(3); err != nil || seen != "POST application/vnd.kubernetes.protobuf xxx" {
				t.Errorf("%s: %v, the upstream reads %q", path, err, seen)
			}
			var oversize *OversizeError
			if err := ask(QuestionLimit); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if err := ask(QuestionLimit + 1); !errors.As(err, &oversize) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}
