package watches

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const acceptProtobuf = "application/vnd.kubernetes.protobuf"

// protobufForms are the protobuf representations of watches that the cache serves.
var protobufForms = map[string]string{
	"plain": acceptProtobuf, "stream": acceptProtobuf + ";stream=watch", "a typed client's": acceptProtobuf + ",application/json",
	"metadata":         acceptProtobuf + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	"metadata v1beta1": acceptProtobuf + ";as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
}

const streamingList = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// TestProtobufBookmarks opens a streaming list that selects nothing for every built-in kind. It receives only the
// bookmark, which contains an empty object.
func TestProtobufBookmarks(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	var group errgroup.Group
	group.SetLimit(4)
	for _, gvr := range watchable(t, s) {
		if o.Upstream.MustAsk(t, testkit.Question{Path: suite.Collection(gvr, "") + "?limit=1", Header: suite.Accepting(acceptProtobuf)}).Code != http.StatusOK {
			continue // a custom resource
		}
		for representation, accept := range protobufForms {
			q := testkit.Question{Path: suite.Collection(gvr, "") + streamingList + "&labelSelector=no.such%3Dlabel", Header: suite.Accepting(accept)}
			group.Go(func() error {
				want, err := firstBookmark(t, o.Upstream, q)
				if err != nil {
					return err
				}
				got, err := firstBookmark(t, o.Facade, q)
				if err == nil && !bytes.Equal(want, got) {
					err = fmt.Errorf("%s, %s: upstream %q, facade %q", gvr, representation, want, got)
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// firstBookmark returns the first frame of a watch without the digits of its version.
func firstBookmark(t *testing.T, a *testkit.Asker, q testkit.Question) ([]byte, error) {
	t.Helper()
	recorder, err := a.Record(t.Context(), q)
	if err != nil {
		return nil, err
	}
	frames := recorder.AwaitFrames(1).Frames
	recorder.Close()
	if len(frames) == 0 {
		return nil, fmt.Errorf("%s sends no frame", q)
	}
	var event metav1.WatchEvent
	var envelope runtime.Unknown
	var object metav1.PartialObjectMetadata // the metadata of any
	err = event.Unmarshal(frames[0].Line)
	if err == nil {
		err = envelope.Unmarshal(bytes.TrimPrefix(event.Object.Raw, []byte("k8s\x00")))
	}
	if err == nil {
		err = object.Unmarshal(envelope.Raw)
	}
	if err != nil || event.Type != testkit.Bookmark || object.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		return nil, fmt.Errorf("%s: not a bookmark: %w: %q", q, err, frames[0].Line)
	}
	digits := bytes.Repeat([]byte("N"), len(object.ResourceVersion))
	return bytes.ReplaceAll(frames[0].Line, []byte(object.ResourceVersion), digits), nil
}

// Objects enter and leave selections. The event of an object that leaves has its last selected content at the new
// version.
func TestProtobufWatches(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.ConfigMaps, "there", "t=a", "0"))
	past := s.Put(t, suite.ConfigMaps, "old", "t=a", "1")
	warm := o.Facade.MustAsk(t, testkit.Question{Path: path + "?resourceVersion=0", Header: suite.Accepting(acceptProtobuf)})
	if warm.Code != http.StatusOK {
		t.Fatalf("%d %q", warm.Code, warm.Body)
	}
	now := s.Put(t, suite.ConfigMaps, "keep", "t=a", "1")
	suite.Reach(t, o, path, now)
	suite.ReachIn(t, o, path, acceptProtobuf, now)
	pairs := map[string]suite.Pair{}
	for start, since := range map[string]string{
		"unset": "", "zero": "&resourceVersion=0", "present": fmt.Sprintf("&resourceVersion=%d", now), "streaming": streamingList[len("?watch=1"):],
		"streaming, past": fmt.Sprintf("%s&resourceVersion=%d", streamingList[len("?watch=1"):], past),
	} {
		for selection, query := range map[string]string{
			"all": "", "label": "&labelSelector=t%3Da", "name": "&fieldSelector=metadata.name%3Dx", "label set": "&labelSelector=t+in+(a,c)",
		} {
			for representation, accept := range protobufForms {
				for gzip, encoding := range map[string]string{"": "identity", ", gzip": "gzip"} {
					q := testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true" + query + since, Header: suite.Accepting(accept)}
					q.Header.Set("Accept-Encoding", encoding)
					pairs[start+", "+selection+", "+representation+gzip] = suite.WatchBoth(t, o, q)
				}
			}
		}
	}
	x, _ := transitions(t, s, suite.ConfigMaps)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) { p.Same(t, x) })
	}
}

// TestProtobufWatchesOfPods selects by fields, which the facade finds by protobuf field numbers.
func TestProtobufWatchesOfPods(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	pairs := map[string]suite.Pair{}
	suite.Reach(t, o, suite.Collection(suite.Pods, ""), s.Put(t, suite.ConfigMaps, "mark", "", "1"))
	for _, selector := range []string{
		"spec.nodeName=n1", "spec.nodeName!=n2", "status.phase=Running", "spec.nodeName=n1,status.phase!=Running", "spec.hostNetwork=false",
		"spec.restartPolicy=Always,spec.nodeName=n1", "status.podIP=",
	} {
		for _, representation := range []string{"plain", "metadata"} {
			pairs[selector+", "+representation] = suite.WatchBoth(t, o, testkit.Question{
				Path:   suite.Collection(suite.Pods, s.Namespace) + "?watch=1&allowWatchBookmarks=true&fieldSelector=" + url.QueryEscape(selector),
				Header: suite.Accepting(protobufForms[representation]),
			})
		}
	}
	_, last := pods(t, s)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) { p.Same(t, last) })
	}
}

// TestProtobufWatchEnds compares refusals, errors within a stream, and timeouts.
func TestProtobufWatchEnds(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	now := s.Put(t, suite.ConfigMaps, "a", "", "1")
	suite.Reach(t, o, path, now)
	suite.ReachIn(t, o, path, acceptProtobuf, now) // short watches end before the lane is filled
	var group errgroup.Group
	for name, query := range map[string]string{
		"too large": "&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"no number": "&resourceVersion=abc", "initial without match": "&sendInitialEvents=true", "no selector": "&labelSelector=a%3D%3D%3Db",
		"no field": "&fieldSelector=spec.color%3Dred", "over": "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0&timeoutSeconds=-1", "in time": "&resourceVersion=0&timeoutSeconds=3",
	} {
		for representation, accept := range protobufForms {
			group.Go(func() error {
				q := testkit.Question{Path: path + "?watch=1" + query, Header: suite.Accepting(accept)}
				if diff := refused(t, o, q, name == "too large"); diff != "" {
					return fmt.Errorf("%s, %s: %s\n%s", name, representation, q, diff)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestProtobufSockets compares cached and forwarded watches over websockets.
func TestProtobufSockets(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}}
	s.Create(t, secrets, secret)
	suite.Reach(t, o, suite.Collection(suite.ConfigMaps, s.Namespace), s.Put(t, suite.ConfigMaps, "a", "", "1"))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, secrets} {
		for representation, accept := range protobufForms {
			upgrading := http.Header{"Upgrade": {"websocket"}, "Accept": {accept}}
			p := suite.WatchBoth(t, o, testkit.Question{Path: suite.Collection(gvr, s.Namespace) + "?watch=1&allowWatchBookmarks=true", Header: upgrading})
			said := func(r *testkit.Recording) bool { return r.Code == http.StatusSwitchingProtocols && r.Notified() >= 1 }
			want, got := p.Upstream.Until(t, "the object", said), p.Facade.Until(t, "the object", said)
			if diff := testkit.DiffBegun(want, got); diff != "" {
				t.Errorf("%s, %s\n%s", gvr.Resource, representation, diff)
			}
		}
	}
}

// A streaming list is compressed if the client accepts gzip, with one gzip member per flush.
func TestProtobufWatchGzip(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	suite.Reach(t, o, path, s.Put(t, suite.ConfigMaps, "a", "", "1"))
	header := http.Header{"Accept-Encoding": {"gzip"}, "Accept": {acceptProtobuf}}
	var live [][]byte
	for _, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		members := openMembers(t, asker, testkit.Question{Path: path + streamingList, Header: header})
		for initial := []byte(nil); !bytes.Contains(initial, []byte("initial-events-end")); {
			initial = append(initial, members.next(t)...)
		}
		s.Put(t, suite.ConfigMaps, "a", "", "2")
		live = append(live, members.next(t))
		s.Put(t, suite.ConfigMaps, "a", "", "1")
	}
	types := func(member []byte) int { return bytes.Count(member, []byte("MODIFIED")) }
	if slices.ContainsFunc(live, func(member []byte) bool { return types(member) != 1 }) {
		t.Errorf("want one gzip member with one event, got %q", live)
	}
}
