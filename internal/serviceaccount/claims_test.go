package serviceaccount

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/go-jose/go-jose.v2/jwt"
	library "k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// A claim of each unusual kind sends the token to a review. The usual ones do not.
func TestOnlyUsualClaimsAreRead(t *testing.T) {
	set := func(name string, value any) func(public, private object) {
		return func(public, _ object) { public[name] = value }
	}
	bind := func(name string, value any) func(public, private object) {
		return func(_, private object) { private[name] = value }
	}
	without := func(name string) func(public, private object) {
		return func(public, private object) { delete(public, name); delete(private, name) }
	}
	for name, c := range map[string]struct {
		change func(public, private object)
		usual  bool
	}{
		"none":                       {func(object, object) {}, true},
		"no pod":                     {without("pod"), true},
		"no node":                    {without("node"), true},
		"no warning":                 {without("warnafter"), true},
		"no start":                   {without("nbf"), true},
		"no time of issue":           {without("iat"), true},
		"no ID":                      {without("jti"), true},
		"one audience as text":       {set("aud", "api"), true},
		"an expiry with a fraction":  {set("exp", 1.9e9+0.5), true},
		"no audience":                {without("aud"), false},
		"no audiences":               {set("aud", []string{}), false},
		"an empty audience":          {set("aud", []string{"api", ""}), false},
		"an audience of numbers":     {set("aud", []int{1}), false},
		"no expiry":                  {without("exp"), false},
		"an expiry before 1970":      {set("exp", -1), false},
		"an endless expiry":          {set("exp", 1e300), false},
		"an expiry as text":          {set("exp", "tomorrow"), false},
		"an endless start":           {set("nbf", 1e300), false},
		"no subject":                 {without("sub"), false},
		"another subject":            {set("sub", "system:serviceaccount:ns:other"), false},
		"a subject of another space": {set("sub", "system:serviceaccount:other:robot"), false},
		"a subject that is a user":   {set("sub", "alice"), false},
		"an unknown claim":           {set("groups", []string{"system:masters"}), false},
		"no claims of Kubernetes":    {without("kubernetes.io"), false},
		"a list of Kubernetes":       {set("kubernetes.io", []int{}), false},
		"no namespace":               {without("namespace"), false},
		"another namespace":          {bind("namespace", "other"), false},
		"no account":                 {without("serviceaccount"), false},
		"an account without UID":     {bind("serviceaccount", object{"name": "robot"}), false},
		"another account":            {bind("serviceaccount", object{"name": "other", "uid": "1"}), false},
		"a pod without name":         {bind("pod", object{"uid": "2"}), false},
		"a pod without UID":          {bind("pod", object{"name": "p"}), false},
		"a pod with more":            {bind("pod", object{"name": "p", "uid": "2", "kind": "Pod"}), false},
		"an empty pod":               {bind("pod", object{}), false},
		"a node without UID":         {bind("node", object{"name": "n"}), false},
		"a secret":                   {bind("secret", object{"name": "s", "uid": "4"}), false},
		"a webhook":                  {bind("mutatingwebhookconfiguration", object{"name": "s", "uid": "4"}), false},
		"attestations":               {bind("attestations", object{}), false},
		"a claim in upper case":      {set("EXP", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			u, err := Parse(i.sign(t, usual(c.change)))
			if c.usual != (err == nil) || err != nil && !errors.Is(err, ErrUnusual) {
				t.Fatalf("got %v, want usual %t", err, c.usual)
			}
			if err == nil {
				_, err = i.keys(t).Verify(u)
			}
			if c.usual && err != nil {
				t.Errorf("got %v, want a verified token", err)
			}
		})
	}
}

// Extra fields are those of kube-apiserver's library.
func TestExtraMatchesLibrary(t *testing.T) {
	for _, c := range []Claims{
		{}, {ID: "i"}, {Pod: Reference{"p", "1"}}, {Node: Reference{"n", "2"}},
		{ID: "i", Pod: Reference{"p", "1"}, Node: Reference{"n", "2"}},
	} {
		info := library.ServiceAccountInfo{PodName: c.Pod.Name, PodUID: c.Pod.UID, NodeName: c.Node.Name, NodeUID: c.Node.UID}
		if c.ID != "" {
			info.CredentialID = "JTI=" + c.ID
		}
		if got, want := c.Extra(), info.UserInfo().GetExtra(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// A token is valid from a minute before its start, as in kube-apiserver, to its expiry. An object counts until its
// deletion is due. In the minute afterwards, kube-apiserver decides.
func TestTimesOfTokens(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		claims Claims
		want   bool
	}{
		"valid":                        {Claims{Expiry: at(1), NotBefore: at(-1), IssuedAt: at(-1)}, true},
		"at its expiry":                {Claims{Expiry: now}, true},
		"after its expiry":             {Claims{Expiry: at(-1)}, false},
		"within a minute of its start": {Claims{Expiry: at(100), NotBefore: at(60)}, true},
		"before its start":             {Claims{Expiry: at(100), NotBefore: at(61)}, false},
		"issued in the future":         {Claims{Expiry: at(100), IssuedAt: at(61)}, false},
	} {
		if got := c.claims.ValidAt(now); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
		if err := (jwt.Claims{
			Expiry: jwt.NewNumericDate(c.claims.Expiry), NotBefore: jwt.NewNumericDate(c.claims.NotBefore),
			IssuedAt: jwt.NewNumericDate(c.claims.IssuedAt),
		}).Validate(jwt.Expected{Time: now}); c.want && err != nil {
			t.Errorf("%s: got valid, but kube-apiserver's library says %v", name, err)
		}
	}
	pod := Reference{Name: "p", UID: "1"}
	for object, want := range map[Object]bool{
		{UID: "1"}: true, {UID: "2"}: false, {UID: "1", Deletes: at(1)}: true, {UID: "1", Deletes: now}: true,
		{UID: "1", Deletes: at(-1)}: false,
	} {
		if got := pod.Names(object, now); got != want {
			t.Errorf("%+v: got %t, want %t", object, got, want)
		}
	}
}

// FuzzParseClaims: claims that are read are those that kube-apiserver reads.
func FuzzParseClaims(f *testing.F) {
	for _, payload := range []any{usual(), usual(func(public, _ object) { public["aud"] = "api" }), object{}, []int{1}, "", nil} {
		seed, err := json.Marshal(payload)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Add([]byte(`{"iss":"a","iss":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseClaims(data)
		if err != nil {
			return
		}
		var loose struct {
			Subject    string  `json:"sub"`
			Issuer     string  `json:"iss"`
			Expiry     float64 `json:"exp"`
			Kubernetes struct {
				Namespace string    `json:"namespace"`
				Account   Reference `json:"serviceaccount"`
				Pod       Reference `json:"pod"`
			} `json:"kubernetes.io"`
		}
		if err := json.Unmarshal(data, &loose); err != nil {
			t.Fatalf("got claims from what is no JSON: %v", err)
		}
		if Username(got.Namespace, got.Account.Name) != loose.Subject || got.Issuer != loose.Issuer ||
			got.Expiry.Unix() != int64(loose.Expiry) || got.Pod != loose.Kubernetes.Pod || got.Account != loose.Kubernetes.Account {
			t.Errorf("got %+v, want %+v", got, loose)
		}
		if got.Account.UID == "" || got.Expiry.IsZero() || !hasAudience(got.Audiences) {
			t.Errorf("got incomplete claims %+v", got)
		}
	})
}

// FuzzParse: no text panics, and without a signature no token is verified.
func FuzzParse(f *testing.F) {
	keys := newIssuer(f).keys(f)
	f.Add(newIssuer(f).sign(f, usual()))
	f.Add("a.b.c")
	f.Add(`{"payload":"e30","signatures":[]}`)
	f.Fuzz(func(t *testing.T, token string) {
		u, err := Parse(token)
		if err != nil {
			return
		}
		if _, err := keys.Verify(u); err == nil {
			t.Errorf("verified %q, which the issuer did not sign", strings.Split(token, ".")[1])
		}
	})
}
