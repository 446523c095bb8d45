package chains

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	replicas = 10
	// many is more objects than the facade lists instead of waiting for a progress watch.
	many = 520
)

const acceptProtobuf = "application/vnd.kubernetes.protobuf"

// Ten facades read through one. Only that one sends requests to kube-apiserver, once per resource and encoding. The
// facades read earlier writes, of a resource with few objects and of one with many, in both encodings.
func TestReplicasShareUpstreamRequests(t *testing.T) {
	settings.Long(t)
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	fill(t, s)
	tally := suite.NewTally(t, suite.Cluster(t))
	first := suite.LaunchFacade(t, tally.Kubeconfig)
	first.AwaitReady(t)
	cases := []suite.Asked{{Resource: "configmaps"}, {Resource: "configmaps", Protobuf: true}, {Resource: "gadgets.watch.example.com"}}
	questions := map[suite.Asked]testkit.Question{
		cases[0]: {Path: suite.Collection(suite.ConfigMaps, s.Namespace), Header: suite.Accepting(suite.AcceptJSON)},
		cases[1]: {Path: suite.Collection(suite.ConfigMaps, s.Namespace), Header: suite.Accepting(acceptProtobuf)},
		cases[2]: {Path: suite.Collection(suite.Gadgets, s.Namespace), Header: suite.Accepting(suite.AcceptJSON)},
	}
	for _, what := range cases {
		same(t, s, []*suite.Facade{first}, questions[what])
		what.Way = suite.Watch
		testkit.Eventually(t, "the first facade watches", func() error {
			if n := tally.Asked(what); n != 1 {
				return fmt.Errorf("%s: %d times", what, n)
			}
			return nil
		})
	}
	behind := startBehind(t, first)
	for _, what := range cases {
		what.Way = suite.List
		begun := tally.Asked(what)
		same(t, s, behind, questions[what])
		if got := tally.Asked(what); got != begun {
			t.Errorf("%s: got %d requests, want %d as with the first facade alone", what, got, begun)
		}
		if what.Way = suite.Watch; tally.Asked(what) != 1 {
			t.Errorf("%s: %d times", what, tally.Asked(what))
		}
	}
	for _, what := range cases {
		price(t, s, tally, behind, what, questions[what])
	}
}

// fill creates many config maps and few gadgets.
func fill(t *testing.T, s *suite.Fixture) {
	t.Helper()
	for i := range 3 {
		s.Put(t, suite.Gadgets, fmt.Sprintf("g%d", i), "t=a", "1")
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for i := range many {
		group.Go(func() error {
			o := suite.NewObject(suite.ConfigMaps, fmt.Sprintf("c%d", i), "t=a", "1")
			_, err := s.In(suite.ConfigMaps).Create(ctx, o, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// same compares the answers of kube-apiserver and of each facade.
func same(t *testing.T, s *suite.Fixture, facades []*suite.Facade, q testkit.Question) {
	t.Helper()
	var asking sync.WaitGroup
	for _, f := range facades {
		oracle := s.Oracle(t, f)
		asking.Go(func() {
			filled(t, oracle.Facade, testkit.Question{Path: q.Path + "?resourceVersion=0", Header: q.Header})
			if _, diff := oracle.Difference(t, q); diff != "" {
				t.Errorf("%s\n%s", q, diff)
			}
		})
	}
	asking.Wait()
}

// filled repeats a request until a facade answers it. A facade whose lane or freshness check takes too long asks the
// client to retry.
func filled(t *testing.T, asker *testkit.Asker, q testkit.Question) (answer *testkit.Answer) {
	t.Helper()
	testkit.Eventually(t, "there is an answer", func() (err error) {
		if answer, err = asker.Ask(t.Context(), q); err == nil && answer.Code == http.StatusTooManyRequests {
			err = fmt.Errorf("%s: %s", q, answer.Body)
		}
		return err
	})
	return answer
}

func startBehind(t *testing.T, first *suite.Facade) []*suite.Facade {
	t.Helper()
	all := make([]*suite.Facade, replicas)
	for i := range all {
		all[i] = suite.StartBehind(t, first)
	}
	return all
}

// price sends consistent reads to all replicas at the same time after a write to another resource, which is the most
// costly case. kube-apiserver receives shared freshness checks, and for few objects sometimes the list itself, which is
// cheaper. The number of checks is logged, not tested, because a slow check takes more requests.
func price(t *testing.T, s *suite.Fixture, tally *suite.Tally, behind []*suite.Facade, what suite.Asked, q testkit.Question) {
	t.Helper()
	const rounds = 2
	other := suite.Gadgets
	if what.Resource != "configmaps" {
		other = suite.ConfigMaps
	}
	before := counts(tally, what)
	for round := range rounds {
		s.Put(t, other, "another", "", fmt.Sprint(round))
		var asking sync.WaitGroup
		for _, f := range behind {
			oracle := s.Oracle(t, f)
			asking.Go(func() {
				if answer := filled(t, oracle.Facade, q); answer.Code != http.StatusOK {
					t.Errorf("%s: %d %s", what, answer.Code, answer.Body)
				}
			})
		}
		asking.Wait()
	}
	after := counts(tally, what)
	lists, proofs := after[suite.List]-before[suite.List], after[suite.Other]-before[suite.Other]
	t.Logf("%s: %d consistent reads at %d replicas cost kube-apiserver %d lists and %d proofs", what, rounds*replicas, replicas, lists, proofs)
	// On a busy machine some checks are too slow, and these reads are forwarded.
	most := rounds * replicas / 2
	if what.Resource == "configmaps" {
		most /= 2
	}
	if lists > most {
		t.Errorf("%s: %d lists for %d reads", what, lists, rounds*replicas)
	}
	if after[suite.Watch] != before[suite.Watch] {
		t.Errorf("%s: kube-apiserver received another watch", what)
	}
}

// counts returns the number of requests for a resource by kind, in all encodings.
func counts(tally *suite.Tally, what suite.Asked) map[suite.Way]int {
	all := map[suite.Way]int{}
	for _, way := range []suite.Way{suite.List, suite.Watch, suite.Other} {
		for _, protobuf := range []bool{false, true} {
			all[way] += tally.Asked(suite.Asked{Way: way, Resource: what.Resource, Protobuf: protobuf})
		}
	}
	return all
}
