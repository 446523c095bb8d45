package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// small is D1 with fewer pods.
func small() Spec {
	s := D1
	s.Pods = 3000
	return s
}

func TestEqualSpecsGiveEqualBytes(t *testing.T) {
	s := small()
	s.Pods = 50
	all := func(s Spec) []byte {
		var b bytes.Buffer
		if err := s.writeJSON(func(item []byte) error { _, err := b.Write(item); return err }); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	first := all(s)
	if !bytes.Equal(first, all(s)) {
		t.Error("got different bytes from equal specs")
	}
	s.Seed++
	if bytes.Equal(first, all(s)) {
		t.Error("got the same pods from another seed")
	}
}

func TestPodsHaveTheSizeOfRealPods(t *testing.T) {
	ratio, err := small().CheckRatio()
	if err != nil {
		t.Fatal(err)
	}
	size := ratio.Bytes / int64(small().Pods)
	t.Logf("%d bytes a pod, %.2f times smaller compressed", size, ratio.Value())
	if size < 14_000 || size > 16_500 {
		t.Errorf("got %d bytes of JSON for a pod, want about 15 kB", size)
	}
}

func TestCheckRatioRefusesCopies(t *testing.T) {
	s := small()
	s.Pods, s.Applications = 500, 1
	_, err := s.CheckRatio()
	if _, ok := errors.AsType[*RatioError](err); !ok {
		t.Errorf("got %v, want a RatioError for pods of one application", err)
	}
}

// All pods are different. Lists of one namespace, node and label have about the sizes in docs/benchmarks.md.
func TestD1HasDistinctPods(t *testing.T) {
	keys, uids := map[string]bool{}, map[string]bool{}
	namespaces, nodes := map[string]int{}, map[string]int{}
	rare := 0
	for pod := range D1.All() {
		keys[pod.Namespace+"/"+pod.Name], uids[string(pod.UID)] = true, true
		namespaces[pod.Namespace]++
		nodes[pod.Spec.NodeName]++
		if pod.Labels[RareLabel] == RareValue {
			rare++
		}
	}
	if len(keys) != D1.Pods || len(uids) != D1.Pods || len(namespaces) != D1.Namespaces || len(nodes) != D1.Nodes {
		t.Errorf("%d names, %d UIDs, %d namespaces, %d nodes", len(keys), len(uids), len(namespaces), len(nodes))
	}
	for _, part := range []struct {
		what             string
		got, least, most int
	}{
		{"in a namespace", namespaces[D1.Namespace(7)], 360, 440},
		{"on a node", nodes[D1.Node(42)], 35, 45},
		{"with the rare label", rare, 80, 120},
	} {
		if part.got < part.least || part.got > part.most {
			t.Errorf("got %d pods %s, want %d to %d", part.got, part.what, part.least, part.most)
		}
	}
}

func TestFieldSetHasTheFormatOfManagedFields(t *testing.T) {
	container := corev1.Container{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}}, Args: []string{"x"}}
	got := fieldSet(map[string]any{"spec": corev1.PodSpec{Containers: []corev1.Container{container}}})
	want := `{"f:spec":{"f:containers":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:args":{},"f:name":{},` +
		`"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},` +
		`"f:resources":{".":{}}}}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid([]byte(statusSet("10.0.0.1"))) {
		t.Errorf("invalid JSON: %s", statusSet("10.0.0.1"))
	}
}

func TestLikeScalesLargerSpecs(t *testing.T) {
	large, small := D1, D1
	large.Pods, small.Pods = 5*D1.Pods, 2000
	if got := large.Like(D1); got != (Spec{Pods: 100_000, Namespaces: 250, Nodes: 2500, Applications: 1500, Seed: D1.Seed}) {
		t.Errorf("many: %+v", got)
	}
	if got := small.Like(D1); got != small {
		t.Errorf("few: %+v", got)
	}
}

// The example of an application does not depend on the number of applications.
func TestExampleDependsOnlyOnItsIndex(t *testing.T) {
	large := D1
	large.Pods = 5 * D1.Pods
	a, b, c := D1.Example(7), large.Example(7), D1.Example(8)
	if a.Name != b.Name || a.UID != b.UID || a.Name == c.Name || a.UID == c.UID {
		t.Errorf("%s, %s, %s", a.Name, b.Name, c.Name)
	}
}
