package dataset

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Spec is the size of a data set and its random seed. Equal values give equal pods.
type Spec struct {
	Pods         int
	Namespaces   int
	Nodes        int
	Applications int
	Seed         uint64
}

// D1 is the data set of docs/benchmarks.md: 20,000 pods of about 15 kB of JSON each. About 400 are in each namespace,
// about 40 on each node, and about 100 have RareLabel.
var D1 = Spec{Pods: 20_000, Namespaces: 50, Nodes: 500, Applications: 300, Seed: 1}

// Like scales the namespaces, nodes and applications of other to the pods of s, if s has at least twice as many pods.
func (s Spec) Like(other Spec) Spec {
	if times := s.Pods / other.Pods; times > 1 {
		s.Namespaces, s.Nodes, s.Applications = times*other.Namespaces, times*other.Nodes, times*other.Applications
	}
	return s
}

// RareLabel is set to RareValue on one of RareOneIn pods, independently of namespace and node.
const (
	RareLabel = "rollout.example.com/track"
	RareValue = "canary"
	RareOneIn = 200
)

// newest is the latest possible creation time of a pod. The time is fixed, so that equal specs give equal bytes. It is
// long ago, so that a printed age ("264d") does not change during a day.
var newest = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// Namespace returns the name of the i-th namespace.
func (s Spec) Namespace(i int) string { return fmt.Sprintf("team-%02d", i%s.Namespaces) }

// Node returns the name of the i-th node.
func (s Spec) Node(i int) string {
	i %= s.Nodes
	return fmt.Sprintf("node-%s-%03d.eu-west-1.compute.internal", string(rune('a'+i%3)), i)
}

// All yields the pods in no particular order. The consumer must not change them, because pods share read-only memory.
func (s Spec) All() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		r := rand.New(rand.NewPCG(s.Seed, 0))
		applications := make([]*application, s.Applications)
		for i := range applications {
			applications[i] = newApplication(r, s.Namespace(i), i)
		}
		for range s.Pods {
			a := applications[r.IntN(len(applications))]
			if !yield(a.pod(r, s.Node(r.IntN(s.Nodes)))) {
				return
			}
		}
	}
}

// Example returns one pod of the i-th application. The pod does not depend on the numbers of pods and applications. The
// caller may change it.
func (s Spec) Example(i int) *corev1.Pod {
	r := rand.New(rand.NewPCG(s.Seed, uint64(i)+1))
	return newApplication(r, s.Namespace(i), i).pod(r, s.Node(r.IntN(s.Nodes)))
}
