package questions

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	conformanceQuestions = 400 // unless LISTFACADE_CONFORMANCE says how many; half of it in a short run
	conformanceStreams   = 8   // open at a time on each server
	conformanceFailures  = 40  // are enough
	regressionsFile      = "../../testdata/conformance/regressions.txt"
)

// TestConformance sends random questions to both servers while a few objects change. LISTFACADE_SEED repeats the
// questions of an earlier run.
func TestConformance(t *testing.T) {
	seed := settings.Seed(t)
	budget := settings.NewBudget(t, "LISTFACADE_CONFORMANCE", settings.Amount(200, conformanceQuestions))
	c := newConformance(t, seed)
	stir(t)
	grammar := testkit.NewGrammar(seed, subjectsOf(t))
	asked := 0
	for ; budget.Allows(asked) && !c.enough(); asked++ {
		c.ask(t, asked, grammar.Question())
	}
	c.streams.Wait()
	t.Logf("%d questions, %d of them for streams, %d answered differently; of kube-apiserver's other answers %d were compressed, and their codes %v",
		asked, c.opened, c.failures, c.compressed, c.codes)
	if missed := budget.Missed(asked); missed > 0 && !c.enough() {
		t.Errorf("there was no time for %d of %d questions", missed, budget.Tries)
	}
}

// TestConformanceRegressions sends the questions whose answers once differed.
func TestConformanceRegressions(t *testing.T) {
	file, err := os.Open(regressionsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := newConformance(t, 0)
	number := 1
	for lines := bufio.NewScanner(file); lines.Scan(); number++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		q, err := testkit.ParseQuestion(lines.Text())
		if err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		c.ask(t, number, q)
	}
	c.streams.Wait()
}

// subjectsOf returns all kinds of the cluster as subjects of a grammar. An older release may serve a kind without
// fixtures.
func subjectsOf(t *testing.T) []testkit.Subject {
	t.Helper()
	var subjects []testkit.Subject
	for _, kind := range fixturesOf(t) {
		path := kind.collection("")
		s := testkit.Subject{Root: strings.TrimSuffix(path, "/"+kind.Resource), Resource: kind.Resource}
		for _, object := range kind.objects {
			s.Objects = append(s.Objects, testkit.Object{Namespace: object.Namespace, Name: object.Name})
		}
		if len(s.Objects) > 0 || settings.Upstream() == "" {
			subjects = append(subjects, s)
		}
	}
	return subjects
}

// conformance sends questions and counts them. The test's goroutine reads lists and objects, one after the other. Each
// stream has its own goroutine.
type conformance struct {
	oracle  *testkit.Oracle
	seed    uint64
	streams sync.WaitGroup
	slots   chan struct{}
	opened  int
	codes   map[int]int // how many answers had each

	compressed int // answers

	mu       sync.Mutex
	failures int
}

func newConformance(t *testing.T, seed uint64) *conformance {
	return conformanceOf(newOracle(t), seed)
}

func conformanceOf(oracle *testkit.Oracle, seed uint64) *conformance {
	return &conformance{oracle: oracle, seed: seed, slots: make(chan struct{}, conformanceStreams), codes: map[int]int{}}
}

func (c *conformance) ask(t *testing.T, number int, q testkit.Question) {
	t.Helper()
	filled := c.oracle.Fill(t, q)
	if !filled.Watches() {
		answer, diff := c.oracle.Difference(t, filled)
		c.codes[answer.Code]++
		if answer.Header.Get("Content-Encoding") == "gzip" {
			c.compressed++
		}
		c.report(t, number, q, diff)
		return
	}
	c.slots <- struct{}{}
	c.opened++
	c.streams.Go(func() {
		defer func() { <-c.slots }()
		diff, err := c.oracle.StreamDifference(t.Context(), filled)
		if err != nil {
			diff = err.Error()
		}
		c.report(t, number, q, diff)
	})
}

// report fails the test if there is a difference, and prints how to repeat the question.
func (c *conformance) report(t *testing.T, number int, q testkit.Question, diff string) {
	t.Helper()
	if diff == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures++
	t.Errorf("question %d of LISTFACADE_SEED=%d; for testdata/conformance/regressions.txt:\n%s\n%s", number, c.seed, q.Line(), diff)
}

func (c *conformance) enough() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures >= conformanceFailures
}

// stirEvery is long enough that most streams of a second see no change.
const stirEvery = 5 * time.Second

// stir changes a config map and a widget in bursts until the test ends.
func stir(t *testing.T) {
	t.Helper()
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bulky(t, client)
	moving := map[string]dynamic.ResourceInterface{
		"v1/ConfigMap":    client.Resource(suite.ConfigMaps).Namespace(suite.SecondNamespace),
		"ex.io/v1/Widget": client.Resource(schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"}).Namespace(suite.SecondNamespace),
	}
	ctx, stop := context.WithCancel(t.Context())
	var stirring sync.WaitGroup
	stirring.Go(func() {
		tick := time.NewTicker(stirEvery)
		defer tick.Stop()
		for round := 0; ; round++ {
			for kind, objects := range moving {
				if err := move(ctx, objects, kind, round); err != nil && ctx.Err() == nil {
					t.Errorf("change a %s: %v", kind, err)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() {
		stop()
		stirring.Wait()
		for _, objects := range moving {
			_ = objects.Delete(context.Background(), "moving", metav1.DeleteOptions{}) // the cluster ends anyway
		}
	})
}

// bulky creates objects until the test ends, so that lists of config maps and widgets are large enough for compression.
func bulky(t *testing.T, client dynamic.Interface) {
	t.Helper()
	text := strings.Repeat("not much, but often. ", gzipFrom/20)
	for gvr, content := range map[schema.GroupVersionResource]map[string]any{
		suite.ConfigMaps: {"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": text}},
		{Group: "ex.io", Version: "v1", Resource: "widgets"}: {
			"apiVersion": "ex.io/v1", "kind": "Widget", "spec": map[string]any{"color": "red", "text": text},
		},
	} {
		o := &unstructured.Unstructured{Object: content}
		o.SetName("bulky")
		objects := client.Resource(gvr).Namespace(suite.SecondNamespace)
		if _, err := objects.Apply(t.Context(), "bulky", o, metav1.ApplyOptions{FieldManager: "conformance", Force: true}); err != nil {
			t.Fatal(err)
		}
		// An error is ignored, because the cluster ends with the tests.
		t.Cleanup(func() { _ = objects.Delete(context.Background(), "bulky", metav1.DeleteOptions{}) })
	}
}

// move makes one change. Every fourth change deletes the object.
func move(ctx context.Context, objects dynamic.ResourceInterface, kind string, round int) error {
	if round%4 == 3 {
		return objects.Delete(ctx, "moving", metav1.DeleteOptions{})
	}
	at := strings.LastIndex(kind, "/")
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind[:at], "kind": kind[at+1:],
		"metadata": map[string]any{"name": "moving", "annotations": map[string]any{"round": fmt.Sprint(round)}},
	}}
	_, err := objects.Apply(ctx, "moving", o, metav1.ApplyOptions{FieldManager: "conformance", Force: true})
	return err
}
