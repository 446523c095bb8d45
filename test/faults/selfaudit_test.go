package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// audited configures a facade whose self-audit compares all lanes within a short time.
func audited(c *facade.Config) { c.SelfAuditInterval, c.SelfAuditShare = 300*time.Millisecond, 1 }

// The values of objects whose events are lost or altered. Altered values keep their length, because protobuf frames
// contain it.
const (
	lostAddition = "an-addition-is-lost"
	lostChange   = "a-change-is-lost"
	lostDeletion = "a-deletion-is-lost"
	toAlter      = "is-altered-a"
	altered      = "is-altered-b"
)

// lossy is a proxy of the cluster that drops or alters events of a namespace, and can hold back watches.
type lossy struct {
	*gate
	kubeconfig string
	namespace  string
	lost       atomic.Int32
}

func newLossy(t *testing.T, s *suite.Fixture) *lossy {
	t.Helper()
	l := &lossy{namespace: s.Namespace, gate: newGate()}
	forward := suite.Forward(t, suite.FacadeConfig(t, suite.Cluster(t)))
	l.kubeconfig = suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/configmaps") && r.URL.Query().Get("watch") != "" {
			w = &lossyStream{ResponseWriter: w, protobuf: strings.HasPrefix(r.Header.Get("Accept"), acceptProtobuf), lossy: l}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(l.release)
	return l
}

// lossyStream is a watch that drops some events and alters others.
type lossyStream struct {
	http.ResponseWriter
	protobuf bool
	rest     []byte
	*lossy
}

// Unwrap lets http.ResponseController flush.
func (s *lossyStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements io.Writer.
func (s *lossyStream) Write(p []byte) (int, error) {
	<-s.state()
	s.rest = append(s.rest, p...)
	for {
		size := s.frame()
		if size == 0 {
			return len(p), nil
		}
		frame := bytes.Clone(s.rest[:size])
		s.rest = s.rest[size:]
		if frame = s.pass(frame); frame == nil {
			continue
		}
		if _, err := s.ResponseWriter.Write(frame); err != nil {
			return 0, err
		}
	}
}

// frame returns the length of the next frame, or 0 if it is incomplete.
func (s *lossyStream) frame() int {
	if !s.protobuf {
		return bytes.IndexByte(s.rest, '\n') + 1
	}
	if len(s.rest) < 4 {
		return 0
	}
	if size := 4 + int(binary.BigEndian.Uint32(s.rest)); size <= len(s.rest) {
		return size
	}
	return 0
}

// pass returns the forwarded bytes of a frame, or nil if the frame is dropped.
func (s *lossyStream) pass(frame []byte) []byte {
	if !bytes.Contains(frame, []byte(s.namespace)) {
		return frame // of another test, whose namespace may be about to be deleted
	}
	for _, value := range []string{lostAddition, lostChange} {
		if bytes.Contains(frame, []byte(value)) {
			s.lost.Add(1)
			return nil
		}
	}
	if bytes.Contains(frame, []byte(lostDeletion)) && bytes.Contains(frame, []byte("DELETED")) {
		s.lost.Add(1)
		return nil
	}
	if with := bytes.ReplaceAll(frame, []byte(toAlter), []byte(altered)); !bytes.Equal(with, frame) {
		s.lost.Add(1)
		return with
	}
	return frame
}

const acceptProtobuf = "application/vnd.kubernetes.protobuf"

// A loss is what happens to one event between kube-apiserver and the facade, and how the self-audit reports it.
type loss struct {
	kind   string // in the metric
	happen func(t *testing.T, s *suite.Fixture)
	logged []string // after the namespace
}

var losses = []loss{
	{"missing", func(t *testing.T, s *suite.Fixture) { s.Put(t, suite.ConfigMaps, "added", "", lostAddition) },
		[]string{`added" is missing; upstream has it at resourceVersion "`}},
	{"surplus", func(t *testing.T, s *suite.Fixture) { s.Remove(t, suite.ConfigMaps, "deleted") },
		[]string{`deleted" is at resourceVersion "`}},
	{"version", func(t *testing.T, s *suite.Fixture) { s.Put(t, suite.ConfigMaps, "changed", "", lostChange) },
		[]string{`changed" is at resourceVersion "`}},
	{"content", func(t *testing.T, s *suite.Fixture) { s.Put(t, suite.ConfigMaps, "altered", "", toAlter) },
		[]string{`altered" at resourceVersion "`, altered, toAlter}},
}

// An event is lost or altered between kube-apiserver and the facade. The self-audit finds the difference, counts it by
// kind, logs both states, and fixes the lane, in both encodings.
func TestSelfAuditFixesDifferences(t *testing.T) {
	settings.Long(t)
	for name, accept := range map[string]string{"json": suite.AcceptJSON, "protobuf": acceptProtobuf} {
		for _, loss := range losses {
			t.Run(name+"/"+loss.kind, func(t *testing.T) { testSelfAuditFixes(t, name, accept, loss) })
		}
	}
}

func testSelfAuditFixes(t *testing.T, name, accept string, loss loss) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.Put(t, suite.ConfigMaps, "deleted", "", lostDeletion)
	s.Put(t, suite.ConfigMaps, "changed", "", "1")
	way := newLossy(t, s)
	run := suite.LaunchFacade(t, way.kubeconfig, audited)
	run.AwaitReady(t)
	oracle := s.Oracle(t, run)
	now := testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + "?resourceVersion=0", Header: suite.Accepting(accept)}
	testkit.Eventually(t, "the lane is filled", func() error {
		if answer := oracle.Facade.MustAsk(t, now); answer.Code != http.StatusOK || !bytes.Contains(answer.Body, []byte(lostDeletion)) {
			return fmt.Errorf("%d", answer.Code)
		}
		return nil
	})
	way.shut()
	loss.happen(t, s)
	s.Put(t, suite.ConfigMaps, "later", "", "2") // the lane receives a later version without the event
	way.release()
	testkit.Eventually(t, "the difference is found", func() error {
		metrics := scraped(t, oracle.Facade)
		if n := sum(metrics, "listfacade_self_audit_differences_total", `kind="`+loss.kind+`"`, `encoding="`+name+`"`); n != 1 {
			return fmt.Errorf("found %v, %d events were lost\n%s", n, way.lost.Load(), audits(metrics))
		}
		return nil
	})
	testkit.Eventually(t, "the lane is fixed", func() error {
		if _, diff := oracle.Difference(t, now); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		if n := sum(scraped(t, oracle.Facade), "listfacade_self_audit_passes_total", `encoding="`+name+`"`); n < 1 {
			return fmt.Errorf("%v passes", n)
		}
		return nil
	})
	if n := sum(scraped(t, oracle.Facade), "listfacade_self_audit_relists_total"); n != 1 {
		t.Errorf("listed again %v times", n)
	}
	page := oracle.Facade.MustAsk(t, testkit.Question{Path: "/debug/status/problems?output=json"})
	if want := "configmaps (" + name + ") differed from kube-apiserver: 1 object,"; !bytes.Contains(page.Body, []byte(want)) {
		t.Errorf("the operator's page lacks %s: %s", want, page.Body)
	}
	for _, want := range loss.logged {
		if !told(run, want) || !told(run, s.Namespace) {
			t.Errorf("the log lacks %s: %v", want, run.Logs.All())
		}
	}
}

// told reports whether a warning of the self-audit contains a text.
func told(run *suite.Facade, text string) bool {
	for _, entry := range run.Logs.All() {
		if strings.Contains(fmt.Sprint(entry.ContextMap()["difference"]), text) {
			return true
		}
	}
	return false
}

// While objects of all kinds are written, the self-audit compares every lane completely in both encodings, and reports
// no difference.
func TestSelfAuditRaisesNoFalseAlarm(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := suite.NewFixture(t, suite.Furnished(t))
	s.DefineGadgets(t)
	run := suite.StartFacade(t, suite.Cluster(t), audited, suite.Unpacked)
	oracle := s.Oracle(t, run)
	lanes := everyLane(t, oracle)
	const writers, writes = 4, 500
	group, ctx := errgroup.WithContext(t.Context())
	for w := range writers {
		group.Go(func() error {
			for i := range writes {
				name, gvr := fmt.Sprintf("w%d-%d", w, i%20), suite.Accounts
				object := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name},
				}}
				if w%2 == 1 {
					gvr = suite.Gadgets
					object = suite.NewObject(gvr, name, "t=a", "1")
				}
				var err error
				if i%60 < 20 {
					_, err = s.In(gvr).Create(ctx, object, metav1.CreateOptions{})
				} else if i%60 < 40 {
					_, err = s.In(gvr).Patch(ctx, name, "application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i), metav1.PatchOptions{})
				} else {
					err = s.In(gvr).Delete(ctx, name, metav1.DeleteOptions{})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var metrics string
	testkit.Eventually(t, "every lane was compared", func() error {
		metrics = scraped(t, oracle.Facade)
		passed := 0
		for _, found := range sample.FindAllStringSubmatch(metrics, -1) {
			if n, _ := strconv.ParseFloat(found[3], 64); found[1] == "listfacade_self_audit_passes_total" && n > 0 {
				passed++
			}
		}
		if passed < lanes {
			return fmt.Errorf("compared %d of %d lanes\n%s", passed, lanes, audits(metrics))
		}
		return nil
	})
	for _, result := range []string{"different", "doubtful", "failed"} {
		if n := sum(metrics, "listfacade_self_audit_pages_total", `result="`+result+`"`); n != 0 {
			t.Errorf("%v pages are %s\n%s", n, result, audits(metrics))
		}
	}
	t.Logf("%d lanes: %s", lanes, audits(metrics))
}

// kinds are kinds that differ in how they are encoded, printed or stored: with a printer that sorts, without a watch
// cache, cluster-scoped, custom, with ages. Other tests write neither large nor thousands of objects of these kinds,
// which the audit would compare for minutes.
var kinds = []string{
	"/api/v1/serviceaccounts", "/api/v1/pods", "/api/v1/events", "/api/v1/nodes", "/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/watch.example.com/v1/gadgets",
}

// everyLane opens a lane for each of the kinds in each of its encodings, and returns their number.
func everyLane(t *testing.T, oracle *testkit.Oracle) int {
	t.Helper()
	for _, path := range kinds {
		for _, accept := range []string{suite.AcceptJSON, acceptProtobuf} {
			oracle.Facade.MustAsk(t, testkit.Question{Path: path + "?resourceVersion=0", Header: suite.Accepting(accept)})
		}
	}
	return 2*len(kinds) - 1 // custom resources have no protobuf
}

// sample is a line of metrics.
var sample = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? (\S+)$`)

func scraped(t *testing.T, asker *testkit.Asker) string {
	t.Helper()
	return string(asker.MustAsk(t, testkit.Question{Path: "/metrics"}).Body)
}

// sum adds the samples of a metric with these labels.
func sum(metrics, name string, labels ...string) (total float64) {
	for _, found := range sample.FindAllStringSubmatch(metrics, -1) {
		has := found[1] == name
		for _, label := range labels {
			has = has && strings.Contains(found[2], label)
		}
		if n, err := strconv.ParseFloat(found[3], 64); has && err == nil {
			total += n
		}
	}
	return total
}

// audits returns the self-audit's metrics that are not 0.
func audits(metrics string) string {
	var lines []string
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "listfacade_self_audit") && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, "_seconds") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
