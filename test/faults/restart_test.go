package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// testFacadeRestarted stops or kills the facade under a client, and starts it again. The client receives all missed
// events. If kube-apiserver no longer has them, it receives a 410.
func testFacadeRestarted(t *testing.T, s *survivors) {
	run := suite.StartFacade(t, s.cluster, marking)
	front := startBalancer(t, run.URL)
	asker, err := testkit.NewAsker(front.Config)
	if err != nil {
		t.Fatal(err)
	}
	client := newResuming(t, asker, suite.Collection(suite.ConfigMaps, s.Namespace))
	client.reaches(t, s.writes[len(s.writes)-1])
	_, _, first := client.look()
	again := func() {
		run.Close(t)
		front.leave(t, 0)
		run = suite.StartFacade(t, s.cluster, marking)
		front.replace(t, 0, run.URL)
		s.write(t)
		client.reaches(t, s.writes[len(s.writes)-1])
	}
	again()
	if err := run.Abort(); err != nil {
		t.Fatal(err)
	}
	again()
	from, _, listed := client.look()
	run.Close(t)
	front.leave(t, 0)
	if listed != first {
		t.Errorf("the client listed %d times again, although kube-apiserver had the events", listed-first)
	}
	s.write(t)
	s.compact(t)
	again()
	if _, _, now := client.look(); now == listed {
		t.Error("the client did not receive a 410")
	}
	client.lostNothing(t, s.writes, s.Present(t, suite.ConfigMaps, metav1.ListOptions{}))
	expired(t, asker.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&resourceVersion=%d", suite.Collection(suite.ConfigMaps, s.Namespace), from),
	}))
	s.survived(t)
}

// expired checks that a watch ended immediately with a 410 in its stream, as kube-apiserver sends it (semantics 4.1).
func expired(t *testing.T, watch *testkit.Recorder) {
	t.Helper()
	rec := watch.Ended(t)
	told, err := rec.Events()
	if err != nil || rec.Code != http.StatusOK || len(told) != 1 || told[0].Type != "ERROR" {
		t.Fatalf("%d, %v: %s", rec.Code, err, rec)
	}
	var status struct {
		Kind, Reason string
		Code         int
	}
	if err := json.Unmarshal(told[0].Object, &status); err != nil || status.Kind != "Status" || status.Reason != "Expired" || status.Code != http.StatusGone {
		t.Errorf("no 410: %s (%v)", rec, err)
	}
}
