package auth

import (
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// The service accounts of a namespace are one group, which contains no other users.
func TestGroupIsTheServiceAccountNamespace(t *testing.T) {
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
			t.Errorf("got groups %q and %q, want the same", one, other)
		}
	}
	for _, name := range []string{"system:serviceaccount:other:one", "system:serviceaccount:ns", "alice", "ns", "system:serviceaccounts:ns"} {
		if got := group(name, ""); got == one {
			t.Errorf("got %s in group %q, want another group", name, got)
		}
	}
	if group("alice", "") == group("bob", "") {
		t.Error("got the same group for alice and bob, want two")
	}
}
