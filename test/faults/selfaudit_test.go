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

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// audited has a facade compare all that it caches within a moment.
func audited(c *facade.Config) { c.SelfAuditInterval, c.SelfAuditShare = 300*time.Millisecond, 1 }

// The values of objects whose events do not arrive as they were sent. Altered ones keep their length, which stands in
// frames of protobuf.
const (
	lostAddition = "an-addition-is-lost"
	lostChange   = "a-change-is-lost"
	lostDeletion = "a-deletion-is-lost"
	toAlter      = "is-altered-a"
	altered      = "is-altered-b"
)

// lossy is a way to the cluster on which events of a namespace are lost or altered, and on which watches can be held
// back.
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

// lossyStream is a watch on whose way some events are lost, and some are altered.
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

// frame is how long the next frame is; 0 when it is not there yet.
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

// pass is what arrives of a frame; nil when it is lost.
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

// TestSelfAuditMends: events that were lost between kube-apiserver and the facade, or altered, are found, counted by
// kind, logged with what both have, and mended, in both encodings.
func TestSelfAuditMends(t *testing.T) {
	settings.Long(t)
	for name, accept := range map[string]string{"json": suite.AcceptJSON, "protobuf": acceptProtobuf} {
		t.Run(name, func(t *testing.T) {
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
			// What differs at first is to be all that does: a lane is listed again for that only once in a while.
			way.shut()
			s.Remove(t, suite.ConfigMaps, "deleted") // the lane hears of a later version, and has to have done without it
			s.Put(t, suite.ConfigMaps, "added", "", lostAddition)
			s.Put(t, suite.ConfigMaps, "changed", "", lostChange)
			s.Put(t, suite.ConfigMaps, "altered", "", toAlter)
			way.release()
			testkit.Eventually(t, "all differences are found", func() error {
				metrics := scraped(t, oracle.Facade)
				for _, kind := range []string{"missing", "surplus", "version", "content"} {
					if n := sum(metrics, "listfacade_self_audit_differences_total", `kind="`+kind+`"`, `encoding="`+name+`"`); n != 1 {
						return fmt.Errorf("%s: %v, %d events were lost\n%s", kind, n, way.lost.Load(), audits(metrics))
					}
				}
				return nil
			})
			testkit.Eventually(t, "the lane is mended", func() error {
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
			if want := "configmaps (" + name + ") was not what kube-apiserver has: "; !bytes.Contains(page.Body, []byte(want)) {
				t.Errorf("the operator's page does not say %s: %s", want, page.Body)
			}
			for _, want := range []string{
				`"` + s.Namespace + `/added" is missing; upstream has it at resourceVersion "`, `"` + s.Namespace + `/deleted" is at resourceVersion "`,
				`is-altered-b`, `is-altered-a`,
			} {
				if !told(run, want) {
					t.Errorf("the log says nothing of %s: %v", want, run.Logs.All())
				}
			}
		})
	}
}

// told tells whether a warning of the self-audit has a text.
func told(run *suite.Facade, text string) bool {
	for _, entry := range run.Logs.All() {
		if strings.Contains(fmt.Sprint(entry.ContextMap()["difference"]), text) {
			return true
		}
	}
	return false
}

// TestSelfAuditIsQuiet: there is no false alarm, however much is written meanwhile, of any kind, in both encodings; and
// every lane is compared from one end to the other.
func TestSelfAuditIsQuiet(t *testing.T) {
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
				name, gvr := fmt.Sprintf("w%d-%d", w, i%20), suite.ConfigMaps
				if w%2 == 1 {
					gvr = suite.Gadgets
				}
				var err error
				if i%60 < 20 {
					_, err = s.In(gvr).Create(ctx, suite.NewObject(gvr, name, "t=a", "1"), metav1.CreateOptions{})
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
			return fmt.Errorf("%d of %d\n%s", passed, lanes, audits(metrics))
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

// kinds are some that are unlike in how they are written, printed or kept: with a printer that sorts, without a watch
// cache, of the cluster, custom, with ages.
var kinds = []string{
	"/api/v1/configmaps", "/api/v1/pods", "/api/v1/events", "/api/v1/nodes", "/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/watch.example.com/v1/gadgets",
}

// everyLane has the facade open a lane for each of the kinds in each encoding that it has, and counts them.
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
var sample = regexp.MustCompile(`(?m)^(\w+)\{(.*)\} (\S+)$`)

func scraped(t *testing.T, asker *testkit.Asker) string {
	t.Helper()
	return string(asker.MustAsk(t, testkit.Question{Path: "/metrics"}).Body)
}

// sum adds the samples of a metric that have some labels.
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

// audits are the self-audit's metrics that count something.
func audits(metrics string) string {
	var lines []string
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "listfacade_self_audit") && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, "_seconds") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
