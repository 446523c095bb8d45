package rbac

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func account(namespace, name, uid string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

func TestExists(t *testing.T) {
	const pods, podName, podUID = "ns", "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
	bound := func(name, uid string) map[string][]string { return map[string][]string{podName: {name}, podUID: {uid}} }
	hasPod := func(namespace, name, uid string) bool { return namespace == pods && name == "p" && uid == "7" }
	for name, c := range map[string]struct {
		identity user.DefaultInfo
		want     bool
	}{
		"a user":                   {user.DefaultInfo{Name: "alice"}, true},
		"a node":                   {user.DefaultInfo{Name: "system:node:n1"}, true},
		"no name":                  {user.DefaultInfo{Name: "system:serviceaccount:ns"}, true},
		"an account":               {user.DefaultInfo{Name: "system:serviceaccount:ns:here", UID: "1"}, true},
		"one without UID":          {user.DefaultInfo{Name: "system:serviceaccount:ns:here"}, true},
		"one that was recreated":   {user.DefaultInfo{Name: "system:serviceaccount:ns:here", UID: "0"}, false},
		"one that was deleted":     {user.DefaultInfo{Name: "system:serviceaccount:ns:gone", UID: "2"}, false},
		"one of another namespace": {user.DefaultInfo{Name: "system:serviceaccount:other:here", UID: "1"}, false},
		"one in a pod":             {user.DefaultInfo{Name: "system:serviceaccount:ns:here", UID: "1", Extra: bound("p", "7")}, true},
		"one in a recreated pod":   {user.DefaultInfo{Name: "system:serviceaccount:ns:here", UID: "1", Extra: bound("p", "6")}, false},
		"one in a deleted pod":     {user.DefaultInfo{Name: "system:serviceaccount:ns:here", UID: "1", Extra: bound("q", "8")}, false},
		"a user with a pod":        {user.DefaultInfo{Name: "alice", Extra: bound("q", "8")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				source := newSource(t)
				source.Add(account("ns", "here", "1"))
				a, err := newAccounts(source, hasPod, zaptest.NewLogger(t))
				if err != nil {
					t.Fatal(err)
				}
				if known := len(c.identity.Extra) > 0 && !c.want; !a.Exists(&c.identity) && !known {
					t.Error("got false before the first list, want true")
				}
				start(t, a.Run)
				<-time.After(settle)
				if got := a.Exists(&c.identity); got != c.want || a.Failure() != nil {
					t.Errorf("got %t, %v, want %t", got, a.Failure(), c.want)
				}
			})
		})
	}
}

// All service accounts exist while they cannot be read.
func TestAllAccountsExistWhileUnreadable(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, err := newAccounts(refusing{}, nil, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		start(t, a.Run)
		synctest.Wait()
		if !a.Exists(&user.DefaultInfo{Name: "system:serviceaccount:ns:gone"}) || a.Failure() == nil {
			t.Error("got false or no failure while service accounts cannot be read")
		}
	})
}

// Accounts that were created while service accounts cannot be watched exist.
func TestNewAccountsExistWhileTheWatchIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		from := newSource(t)
		from.Add(account("ns", "here", "1"))
		source := &cuttable{ListerWatcher: from}
		a, err := newAccounts(source, nil, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		start(t, a.Run)
		exists := func(name string, want bool) {
			t.Helper()
			if got := a.Exists(&user.DefaultInfo{Name: "system:serviceaccount:ns:" + name}); got != want {
				t.Errorf("%s: got %t, want %t", name, got, want)
			}
		}
		<-time.After(settle)
		exists("here", true)
		exists("new", false)
		source.set(true)
		<-time.After(time.Hour) // the permission is lost for longer than a failure is remembered
		exists("new", true)
		source.set(false)
		<-time.After(2 * time.Minute) // the informer pauses for up to a minute before it watches again
		exists("new", false)
	})
}
