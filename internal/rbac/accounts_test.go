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

// accountsIn runs a test with Accounts of a source. The function exists checks whether ns/NAME with a UID exists.
func accountsIn(t *testing.T, test func(from *cuttable, exists func(name, uid string, want bool))) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		from := &cuttable{FakeControllerSource: newSource(t)}
		from.Add(account("ns", "here", "1"))
		a, err := newAccounts(from, nil, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		start(t, a.Run)
		<-time.After(settle)
		test(from, func(name, uid string, want bool) {
			t.Helper()
			synctest.Wait()
			identity := &user.DefaultInfo{Name: "system:serviceaccount:ns:" + name, UID: uid}
			if got := a.Exists(identity); got != want {
				t.Errorf("%s with the UID %q: got %t, want %t", name, uid, got, want)
			}
		})
	})
}

// relists is longer than an informer's pause before it lists again.
const relists = 2 * time.Minute

// While the watch is refused, the periodic lists show deletions. Accounts that were created since the last list exist.
func TestListsShowDeletionsWhileTheWatchIsRefused(t *testing.T) {
	accountsIn(t, func(from *cuttable, exists func(name, uid string, want bool)) {
		from.Add(account("ns", "again", "2"))
		exists("again", "2", true)
		exists("here", "", true)
		exists("new", "", false)
		from.set(refused)
		<-time.After(time.Hour) // longer than a failure is remembered
		exists("new", "4", true)
		exists("new", "", true)
		from.Add(account("ns", "new", "4"))
		from.Delete(account("ns", "here", "1"))
		from.Delete(account("ns", "again", "2"))
		from.Add(account("ns", "again", "3"))
		exists("again", "3", true)
		<-time.After(relists)
		exists("new", "4", true)
		exists("here", "1", false)
		exists("again", "2", false)
		exists("again", "3", true)
		exists("again", "5", true)
		from.set(open)
		<-time.After(relists)
		exists("new", "4", true)
		exists("new", "", true)
		exists("again", "5", false)
		exists("here", "1", false)
		exists("here", "", false)
	})
}

// While a watch is open but brings nothing, accounts that were created since exist.
func TestNewAccountsExistWhileTheWatchHangs(t *testing.T) {
	accountsIn(t, func(from *cuttable, exists func(name, uid string, want bool)) {
		from.set(hanging)
		<-time.After(relists)
		from.Add(account("ns", "new", "2"))
		exists("new", "2", true)
		<-time.After(time.Hour)
		exists("new", "2", true)
		exists("here", "1", true)
	})
}

// A watch that hangs, or is not answered, is replaced after its timeout. The one list before the next watch shows
// deletions.
func TestWatchThatHangsIsReplaced(t *testing.T) {
	for name, fault := range map[string]state{
		"hangs": hanging, "hangs and ends without an error": mute, "is not answered": silent,
	} {
		t.Run(name, func(t *testing.T) {
			accountsIn(t, func(from *cuttable, exists func(name, uid string, want bool)) {
				lists := from.listed()
				from.set(fault)
				<-time.After(settle)
				from.then(open)
				from.Delete(account("ns", "here", "1"))
				exists("here", "1", true)
				<-time.After(10*time.Minute + overdue + relists) // the longest timeout of an informer's watch
				exists("here", "1", false)
				if got := from.listed() - lists; got != 1 {
					t.Errorf("got %d lists, want one", got)
				}
			})
		})
	}
}

// A list that hangs is repeated.
func TestListThatHangsIsRepeated(t *testing.T) {
	accountsIn(t, func(from *cuttable, exists func(name, uid string, want bool)) {
		lists := from.listed()
		from.set(dead)
		<-time.After(maxAnswer + relists) // the watch is not answered, and then the list
		if from.listed() == lists {
			t.Error("got no list")
		}
		from.Delete(account("ns", "here", "1"))
		from.set(open)
		<-time.After(maxAnswer + relists)
		exists("here", "1", false)
	})
}

// A watch that the upstream opens late lasts until its own timeout, so the informer does not list.
func TestWatchThatOpensLateIsKept(t *testing.T) {
	accountsIn(t, func(from *cuttable, exists func(name, uid string, want bool)) {
		lists := from.listed()
		from.set(late)
		<-time.After(time.Hour)
		if got := from.listed() - lists; got != 0 {
			t.Errorf("got %d lists, want none", got)
		}
		from.Delete(account("ns", "here", "1"))
		<-time.After(maxAnswer)
		exists("here", "1", false)
	})
}
