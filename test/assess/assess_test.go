package assess

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/assess"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func TestMain(m *testing.M) {
	facade.LogLibraries(zap.NewNop())
	os.Exit(m.Run())
}

// policy logs what the assessment needs, and nothing of kube-apiserver's own clients.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver"]}
- {level: Metadata}
`

var dozen = testkit.Dozen{Namespace: "dozen", Resource: "configmaps", Label: "part=some", Field: "metadata.name%3Dnumber-7"}

// scene is a cluster with objects that the clients read, and its audit log.
type scene struct {
	cluster *testkit.Cluster
	admin   *rest.Config
	log     string
	server  *testkit.DozenServer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{log: filepath.Join(dir, "audit.log")}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster, err := testkit.StartCluster(t.Context(), suite.WithoutControllers, "--apiserver-arg=--audit-policy-file="+file,
		"--apiserver-arg=--audit-log-path="+s.log, "--apiserver-arg=--audit-log-mode=blocking")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s.cluster = cluster
	if s.admin, err = cluster.Config("admin"); err != nil {
		t.Fatal(err)
	}
	s.admin.QPS = -1
	if s.server, err = dozen.Prepare(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	s.fill(t, settings.Amount(60, 600))
	return s
}

// fill creates ConfigMaps of 4 kB. Every tenth has the label of the dozen.
func (s *scene) fill(t *testing.T, n int) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(s.admin)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("number-%d", i)}, Data: map[string]string{"text": strings.Repeat("x", 4000)},
		}
		if i%10 == 0 {
			object.Labels = map[string]string{"part": "some"}
		}
		if _, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// logged returns the part of the audit log that begins at an offset.
func (s *scene) logged(t *testing.T, from int64) string {
	t.Helper()
	file, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "part.log")
	if err := os.WriteFile(path, file[from:], 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *scene) size(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// report runs the command's function and decodes its JSON.
func report(t *testing.T, o assess.Options, config *rest.Config) *assess.Report {
	t.Helper()
	live, err := assess.NewLive(config)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	var out, notes bytes.Buffer
	o.Output, o.Limit = "json", 0
	if o.SampleFor == 0 {
		o.SampleFor = time.Minute
	}
	if err := assess.Run(t.Context(), o, live, assess.Streams{Out: &out, Err: &notes}); err != nil {
		t.Fatal(err)
	}
	r := new(assess.Report)
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// dozens returns the rows of the twelve clients, by program.
func dozens(r *assess.Report) map[string]assess.Row {
	rows := map[string]assess.Row{}
	for _, row := range r.Clients {
		if strings.HasPrefix(row.User, "system:serviceaccount:dozen:") || row.Program == "backup" {
			rows[row.Program] = row
		}
	}
	return rows
}

// TestAssessment uses one cluster for all claims.
func TestAssessment(t *testing.T) {
	s := newScene(t)
	t.Run("predicted share of requests is served", s.testShare)
	t.Run("callers are found in flight", s.testInFlight)
}

// The share of requests that the audit log predicts is the share that a facade then answers.
func (s *scene) testShare(t *testing.T) {
	rounds, begin := settings.Amount(4, 40), s.size(t)
	direct, err := dozen.Do(t.Context(), rounds, s.server, s.server)
	if err != nil {
		t.Fatal(err)
	}
	path := s.logged(t, begin)
	rows := dozens(report(t, assess.Options{Files: []string{path}}, s.admin))
	predicted, all := 0, 0
	for _, row := range rows {
		predicted, all = predicted+row.Served, all+row.Requests
	}
	if len(rows) != len(dozen.Clients()) || all < direct.Sent-2 {
		t.Fatalf("got %d clients with %d requests, want %d with %d, of which two watches may be open", len(rows), all, len(dozen.Clients()), direct.Sent)
	}
	f := suite.StartDelegating(t, s.cluster)
	before := f.Answered("cache")
	behind, err := dozen.Do(t.Context(), rounds, s.server.At(f.URL, f.Config.CAFile), s.server)
	if err != nil {
		t.Fatal(err)
	}
	served := f.Answered("cache") - before
	got, want := float64(served)/float64(behind.Sent), float64(predicted)/float64(all)
	t.Logf("the facade answered %.1f%% of the requests, predicted were %.1f%%", 100*got, 100*want)
	if got < 0.9*want || got > 1.1*want {
		t.Errorf("got %.3f of the requests from the facade's cache, want the predicted %.3f, 10 %% more or less", got, want)
	}
	if behind.Refused["backup"] == 0 || rows["backup"].Move != assess.Reads {
		t.Errorf("got %v refusals, and that backup moves: %s; want its Secrets refused as predicted", behind.Refused, rows["backup"].Move)
	}
	checkRows(t, rows)
}

// checkRows checks the verdicts.
func checkRows(t *testing.T, rows map[string]assess.Row) {
	t.Helper()
	for program, want := range map[string]assess.Move{
		"poller": assess.Moves, "dashboard": assess.Moves, "kubectl": assess.Moves, "kube-state-metrics": assess.Moves, "controller": assess.Reads,
		"agent": assess.Moves, "operator": assess.Moves, "reporter": assess.Moves, "getter": assess.Moves, "vault": assess.Stays, "elector": assess.Stays,
	} {
		if got := rows[program].Move; got != want {
			t.Errorf("%s: got %s, want %s: %+v", program, got, want, rows[program].WhyNot)
		}
	}
	if row := rows["controller"]; row.Events.Estimate == 0 {
		t.Errorf("got no events of the watch of %+v", row)
	}
}

// Without an audit log, callers are found among the requests in flight.
func (s *scene) testInFlight(t *testing.T) {
	waiting, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() { _ = dozen.AwaitFuture(waiting, s.server) })
	r := report(t, assess.Options{SampleFor: 4 * time.Second}, s.admin)
	stop()
	for _, row := range r.Clients {
		if row.User == "system:serviceaccount:dozen:dozen-0" && row.Requests > 0 && row.Move == assess.Moves {
			return
		}
	}
	t.Errorf("got %+v, want a row of the waiting client", r.Clients)
}
