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

// reviewsApart is longer than any test waits. A facade that confirms the rights to watches so rarely, and remembers
// refusals for so long, acts on a change within a test only when it was notified.
const reviewsApart = 24 * time.Hour

// onlyNotified has a facade act on changes of rights when it is notified, and never because it asks again.
func onlyNotified(c *facade.Config) {
	c.Authorization.WatchReauthorize, c.Authorization.WatchMaxAge, c.Authorization.DeniedTTL = reviewsApart, reviewsApart, reviewsApart
}

// secret is what nobody may be shown who may not read any more.
const secret = "told-to-nobody-any-more"

const acceptProtobuf = "application/vnd.kubernetes.protobuf"

// way is how somebody watches.
type way struct {
	gvr    schema.GroupVersionResource
	query  string
	header http.Header
}

// ways are those to watch: what the cache answers, and what is passed through.
var ways = map[string]way{
	"JSON":                             {suite.ConfigMaps, "", suite.Accepting(suite.AcceptJSON)},
	"protobuf":                         {suite.ConfigMaps, "", suite.Accepting(acceptProtobuf)},
	"a Table":                          {suite.ConfigMaps, "", suite.Accepting(suite.AcceptTable)},
	"a streaming list":                 {suite.ConfigMaps, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", suite.Accepting(suite.AcceptJSON)},
	"one object":                       {suite.ConfigMaps, "&fieldSelector=metadata.name%3Dseen", suite.Accepting(suite.AcceptJSON)},
	"a websocket":                      {suite.ConfigMaps, "", http.Header{"Upgrade": {"websocket"}, "Accept": {suite.AcceptJSON}}},
	"passed through":                   {secrets, "", suite.Accepting(suite.AcceptJSON)},
	"passed through in protobuf":       {secrets, "", suite.Accepting(acceptProtobuf)},
	"passed through over a websocket":  {secrets, "", http.Header{"Upgrade": {"websocket"}, "Accept": {suite.AcceptJSON}}},
	"passed through, a streaming list": {secrets, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", suite.Accepting(suite.AcceptJSON)},
}

// with is the same by whoever holds a token: websockets are dialed without the client that adds it.
func (w way) with(token string) way {
	if w.header.Get("Upgrade") != "" {
		w.header = w.header.Clone()
		w.header.Set("Authorization", "Bearer "+token)
	}
	return w
}

// watched is a watch that is under way, and has told of an object.
type watched struct {
	*testkit.Recorder
	place  *place
	way    way
	oracle *testkit.Oracle
	truth  *testkit.Recorder // what the administrator is told by kube-apiserver
}

func (p *place) question(w way) testkit.Question {
	return testkit.Question{Path: suite.Collection(w.gvr, p.Namespace) + "?watch=1&allowWatchBookmarks=true" + w.query, Header: w.header}
}

// watch opens a watch as soon as somebody may, and waits until it has told of what is changed then.
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

// tells changes the object and waits until the watch has told of it.
func (x *watched) tells(t *testing.T, value string) {
	t.Helper()
	rv := x.place.put(t, x.way.gvr, "seen", value)
	x.Until(t, "the change is told", func(r *testkit.Recording) bool { return r.Reached() >= rv })
}

// losses is how many changes the facade has acted on that took rights away.
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

// loses takes a right away, waits until the facade has heard of it, changes the object to what may not be told, and
// waits for the end. Which of two changes is heard of first, of rights and of objects, nobody promises: two watches
// tell. Others lose rights, too, as those do whose namespace has just been deleted: so the facade's verdict on a list
// has to be gone as well, which it believes until it hears.
func (x *watched) loses(t *testing.T, take func()) {
	t.Helper()
	lists := func(code int) error {
		return wants(x.oracle.Facade.MustAsk(t, testkit.Question{Path: suite.Collection(x.way.gvr, x.place.Namespace)}).Code, code)
	}
	before := x.losses(t)
	testkit.Eventually(t, "there is a right to lose", func() error { return lists(http.StatusOK) })
	take()
	testkit.Eventually(t, "the facade has heard that the right is gone", func() error {
		if err := lists(http.StatusForbidden); err != nil {
			return err
		}
		if x.losses(t) == before {
			return errors.New("it has not")
		}
		return nil
	})
	last := x.place.put(t, x.way.gvr, "seen", secret)
	rec := x.Ended(t)
	x.over(t, rec, last)
}

// over holds a watch that has ended to what it promises: no more than what happened, nothing of what may not be told,
// and an end that clients resume from.
func (x *watched) over(t *testing.T, rec *testkit.Recording, last uint64) {
	t.Helper()
	if rec.Err != nil {
		t.Errorf("it did not end cleanly: %v", rec.Err)
	}
	for _, frame := range rec.Frames {
		if bytes.Contains(frame.Line, []byte(secret)) || bytes.Contains(frame.Line, []byte(`"ERROR"`)) {
			t.Errorf("it told of %q", frame.Line)
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

// again is what is answered to whoever asks anew.
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
		t.Errorf("a new watch: %d, want %d", got, code)
	}
}
