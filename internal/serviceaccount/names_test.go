package serviceaccount

import (
	"slices"
	"testing"

	library "k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestKeysMatchLibrary(t *testing.T) {
	got := []string{PodName, PodUID, NodeName, NodeUID, CredentialID}
	want := []string{library.PodNameKey, library.PodUIDKey, library.NodeNameKey, library.NodeUIDKey, user.CredentialIDKey}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzSplit: names are built and split as in kube-apiserver.
func FuzzSplit(f *testing.F) {
	for _, name := range []string{
		"system:serviceaccount:ns:sa", "system:serviceaccount:ns:a.b-c", "system:serviceaccount:ns:", "system:serviceaccount::sa",
		"system:serviceaccount:ns", "system:serviceaccount:ns:a:b", "system:serviceaccount:Ns:sa", "system:serviceaccount:ns:Sa",
		"system:serviceaccounts:ns", "system:node:n", "alice", "",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, username string) {
		namespace, name, ok := Split(username)
		wantNamespace, wantName, err := library.SplitUsername(username)
		if namespace != wantNamespace || name != wantName || ok != (err == nil) {
			t.Fatalf("%q: got %q %q %t, want %q %q %v", username, namespace, name, ok, wantNamespace, wantName, err)
		}
		if got, want := Username(username, name), library.MakeUsername(username, name); got != want {
			t.Errorf("got user name %q, want %q", got, want)
		}
		if got, want := Groups(username), library.MakeGroupNames(username); !slices.Equal(got, want) {
			t.Errorf("got groups %q, want %q", got, want)
		}
	})
}
