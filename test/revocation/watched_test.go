package revocation

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reviewsApart is longer than any test. A facade that repeats reviews so rarely acts on a change within a test only
// when a watch of RBAC objects notifies it.
const reviewsApart = 24 * time.Hour

// onlyNotified configures a facade that acts on changes of rights only when it is notified, never by a repeated review.
func onlyNotified(c *facade.Config) {
	c.Authorization.WatchReauthorize, c.Authorization.WatchMaxAge, c.Authorization.DeniedTTL = reviewsApart, reviewsApart, reviewsApart
}

// secret is content that no watch may send after its caller lost the right.
const secret = "written-after-the-right-was-lost"

const acceptProtobuf = "application/vnd.kubernetes.protobuf"

// way is a kind of watch.
type way struct {
	gvr    schema.GroupVersionResource
	query  string
	header http.Header
}

// ways are the kinds of watch: from the cache, and forwarded.
var ways = map[string]way{
	"JSON":                        {suite.ConfigMaps, "", suite.Accepting(suite.AcceptJSON)},
	"protobuf":                    {suite.ConfigMaps, "", suite.Accepting(acceptProtobuf)},
	"a Table":                     {suite.ConfigMaps, "", suite.Accepting(suite.AcceptTable)},
	"a streaming list":            {suite.ConfigMaps, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", suite.Accepting(suite.AcceptJSON)},
	"one object":                  {suite.ConfigMaps, "&fieldSelector=metadata.name%3Dseen", suite.Accepting(suite.AcceptJSON)},
	"a websocket":                 {suite.ConfigMaps, "", http.Header{"Upgrade": {"websocket"}, "Accept": {suite.AcceptJSON}}},
	"forwarded":                   {secrets, "", suite.Accepting(suite.AcceptJSON)},
	"forwarded in protobuf":       {secrets, "", suite.Accepting(acceptProtobuf)},
	"forwarded over a websocket":  {secrets, "", http.Header{"Upgrade": {"websocket"}, "Accept": {suite.AcceptJSON}}},
	"forwarded, a streaming list": {secrets, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", suite.Accepting(suite.AcceptJSON)},
}

// with returns the way with a token. Websockets are dialed without the client that adds the token.
func (w way) with(token string) way {
	if w.header.Get("Upgrade") != "" {
		w.header = w.header.Clone()
		w.header.Set("Authorization", "Bearer "+token)
	}
	return w
}

// watched is an open watch that has sent an event.
type watched struct {
	*testkit.Recorder
	place  *place
	way    way
	oracle *testkit.Oracle
	truth  *testkit.Recorder // the administrator's watch on kube-apiserver
}

func (p *place) question(w way) testkit.Question {
	return testkit.Question{Path: suite.Collection(w.gvr, p.Namespace) + "?watch=1&allowWatchBookmarks=true" + w.query, Header: w.header}
}

// watch opens a watch as soon as the caller has the right, and waits until it sends the event of a change.
func (p *place) watch(t *testing.T, oracle *testkit.Oracle, w way) *watched {
	t.Helper()
	x := &watched{place: p, way: w, oracle: oracle}
	x.truth = p.Upstream.MustRecord(t, testkit.Question{Path: suite.Collection(w.gvr, p.Namespace) + "?watch=1&allowWatchBookmarks=true"})
	p.put(t, w.gvr, "seen", "0")
	testkit.Eventually(t, "the watch opens", func() error {
		x.Recorder = oracle.Facade.MustRecord(t, p.question(w))
		if rec := x.SoFar(); rec.Code != http.StatusOK && rec.Code != http.StatusSwitchingProtocols {
			return fmt.Errorf("%d: %s", rec.Code, x.Ended(t))
		}
		return nil
	})
	x.tells(t, "1")
	return x
}

// tells changes the object and waits until the watch sends the event.
func (x *watched) tells(t *testing.T, value string) {
	t.Helper()
	rv := x.place.put(t, x.way.gvr, "seen", value)
	x.Until(t, "the watch sends the change", func(r *testkit.Recording) bool { return r.Reached() >= rv })
}

// losses returns how many removals of rights the facade has processed.
func (x *watched) losses(t *testing.T) int {
	t.Helper()
	admin, err := x.place.cluster.Config("admin")
	must(t, err)
	answer := x.place.run.As(t, admin).Facade.MustAsk(t, testkit.Question{Path: "/metrics"})
	found := regexp.MustCompile(`(?m)^listfacade_rights_changes_total\{change="lost"\} (\d+)$`).FindSubmatch(answer.Body)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return n
}

// loses removes a right, waits until the facade has received that change, writes the secret, and waits for the watch to
// end. The wait is needed because RBAC objects and watched objects arrive by two watches without a common order. Other
// removals also count as losses, for example of a deleted namespace. So loses also waits until a list is refused.
func (x *watched) loses(t *testing.T, take func()) {
	t.Helper()
	lists := func(code int) error {
		return wants(x.oracle.Facade.MustAsk(t, testkit.Question{Path: suite.Collection(x.way.gvr, x.place.Namespace)}).Code, code)
	}
	before := x.losses(t)
	testkit.Eventually(t, "the list is allowed", func() error { return lists(http.StatusOK) })
	take()
	testkit.Eventually(t, "the facade has received the change of rights", func() error {
		if err := lists(http.StatusForbidden); err != nil {
			return err
		}
		if x.losses(t) == before {
			return errors.New("listfacade_rights_changes_total has not increased")
		}
		return nil
	})
	last := x.place.put(t, x.way.gvr, "seen", secret)
	rec := x.Ended(t)
	x.over(t, rec, last)
}

// over checks a watch that has ended: it sent only events that happened, neither the secret nor an ERROR event, and
// ended cleanly, so that clients can resume.
func (x *watched) over(t *testing.T, rec *testkit.Recording, last uint64) {
	t.Helper()
	if rec.Err != nil {
		t.Errorf("the watch did not end cleanly: %v", rec.Err)
	}
	for _, frame := range rec.Frames {
		if bytes.Contains(frame.Line, []byte(secret)) || bytes.Contains(frame.Line, []byte(`"ERROR"`)) {
			t.Errorf("the watch sent %q", frame.Line)
		}
	}
	model, err := testkit.NewModel(x.truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= last }))
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.CheckWatch(rec, model); err != nil {
		t.Error(err)
	}
}

// again returns the code of a new watch by the same caller.
func (x *watched) again(t *testing.T) int {
	t.Helper()
	q := x.place.question(x.way)
	q.Path += "&timeoutSeconds=1"
	q.Header = q.Header.Clone()
	q.Header.Del("Upgrade")
	return x.oracle.Facade.MustAsk(t, q).Code
}

// refused checks that a new watch is refused as by kube-apiserver.
func (x *watched) refused(t *testing.T, code int) {
	t.Helper()
	if got := x.again(t); got != code {
		t.Errorf("a new watch: got %d, want %d", got, code)
	}
}
