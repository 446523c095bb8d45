package auth

import (
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Service accounts of one namespace are one group, and nobody else is in it.
func TestGroups(t *testing.T) {
	group := func(name, pod string) string {
		info := &user.DefaultInfo{Name: name}
		if pod != "" {
			info.Extra = map[string][]string{podUID: {pod}}
		}
		return NewCaller(info, ByToken, time.Time{}).Group()
	}
	one := group("system:serviceaccount:ns:one", "")
	for _, other := range []string{group("system:serviceaccount:ns:two", ""), group("system:serviceaccount:ns:one", "pod")} {
		if other != one {
			t.Errorf("%q and %q", one, other)
		}
	}
	for _, name := range []string{"system:serviceaccount:other:one", "system:serviceaccount:ns", "alice", "ns", "system:serviceaccounts:ns"} {
		if got := group(name, ""); got == one {
			t.Errorf("%s is in %q", name, got)
		}
	}
	if group("alice", "") == group("bob", "") {
		t.Error("alice and bob are one")
	}
}
