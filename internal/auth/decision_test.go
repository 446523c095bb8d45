package auth

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
)

// variations returns questions that differ in one attribute each, including ones that a wrong key would confuse.
func variations(t testing.TB) []Attributes {
	t.Helper()
	base := Attributes{Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "a", Name: "b"}
	all := []Attributes{base, {}}
	vary := func(change func(*Attributes)) {
		a := base
		change(&a)
		all = append(all, a)
	}
	for _, verb := range []string{"", "get", "watch", "LIST", "list "} {
		vary(func(a *Attributes) { a.Verb = verb })
	}
	for _, group := range []string{"", "batch", "apps\x00v1", "Apps"} {
		vary(func(a *Attributes) { a.Group = group })
	}
	vary(func(a *Attributes) { a.Version = "v2" })
	for _, name := range []string{"list", "", `""`} {
		vary(func(a *Attributes) { a.Caller = NewCaller(&user.DefaultInfo{Name: name}, ByToken, time.Time{}) })
	}
	vary(func(a *Attributes) {
		a.Caller = NewCaller(&user.DefaultInfo{Name: "list", Groups: []string{"x"}}, ByToken, time.Time{})
	})
	vary(func(a *Attributes) { a.Path = "/metrics" })
	vary(func(a *Attributes) { a.Subresource = "log" })
	vary(func(a *Attributes) { a.PassedThrough = true })
	vary(func(a *Attributes) { a.Version, a.Resource = "v1\x00deployments", "" })
	vary(func(a *Attributes) { a.Resource = "deployment" })
	vary(func(a *Attributes) { a.Resource = "deployments/status" })
	for _, names := range [][2]string{
		{"", "b"}, {"a", ""}, {"", ""}, {"", "a"}, {"b", "a"}, {"ab", ""}, {"", "ab"}, {"a\x00b", ""}, {"", "a\x00b"}, {"a\x00b", "c"}, {"a", "b\x00c"},
		{`a""b`, ""}, {`a`, `"|"`}, {"a", "b\x00f\x01=\x01v\x00"}, {"a", `b"|"f""=""v"`},
	} {
		vary(func(a *Attributes) { a.Namespace, a.Name = names[0], names[1] })
	}
	for _, selector := range []string{"f=v", "f!=v", "f=w", "g=v", "f=v,g=w", "f=", "fv=", `f=v\,g\=w`} {
		parsed, err := fields.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		vary(func(a *Attributes) { a.Fields = parsed.Requirements() })
	}
	for _, selector := range []string{
		"f=v", "f!=v", "f=w", "g=v", "f=v,g=w", "f", "!f", "f in (v,w)", "f notin (v,w)", "f in (w)", "f>1", "f<1", "f=v,f=w",
	} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		requirements, _ := parsed.Requirements()
		vary(func(a *Attributes) { a.Labels = requirements })
	}
	return all
}

// A decision covers the question that it answers, and no other.
func TestDecisionCoversOnlyItsQuestion(t *testing.T) {
	all := variations(t)
	for i, asked := range all {
		decision := Decision{key: asked.key()}
		for j, other := range all {
			// A set with one value equals an equality: the same question in other words.
			same := i == j || asked.key() == other.key() && sameSelectors(asked, other)
			if got := decision.Covers(other); got != same {
				t.Errorf("the decision for %+v covers %+v: got %t", asked, other, got)
			}
		}
	}
}

func sameSelectors(a, b Attributes) bool {
	return a.Verb == b.Verb && a.Group == b.Group && a.Version == b.Version && a.Resource == b.Resource && a.Namespace == b.Namespace &&
		a.Name == b.Name && labels.NewSelector().Add(a.Labels...).String() == labels.NewSelector().Add(b.Labels...).String() &&
		len(a.Fields) == len(b.Fields)
}

func TestZeroDecisionCoversNothing(t *testing.T) {
	for _, a := range variations(t) {
		if (Decision{}).Covers(a) {
			t.Errorf("the zero decision covers %+v", a)
		}
	}
}

// No two questions have the same key, whatever their texts contain.
func FuzzKey(f *testing.F) {
	f.Add("a", "b", "c", "a\x00b", "", "c")
	f.Add("a", "", "b", "a", "b", "")
	f.Add(`"`, `""`, `|`, `""`, `"`, `|`)
	f.Add("\xff", "\ufffd", "", "\ufffd", "\xff", "")
	f.Fuzz(func(t *testing.T, r1, ns1, n1, r2, ns2, n2 string) {
		one, two := Attributes{Resource: r1, Namespace: ns1, Name: n1}, Attributes{Resource: r2, Namespace: ns2, Name: n2}
		same := r1 == r2 && ns1 == ns2 && n1 == n2
		if got := (Decision{key: one.key()}).Covers(two); got != same {
			t.Errorf("the decision for %+v covers %+v: got %t", one, two, got)
		}
	})
}
