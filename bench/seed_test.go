package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// gateway records the keys that are written to it.
type gateway struct {
	mu   sync.Mutex
	keys map[string][]byte // guarded by mu
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var transaction struct{ Success []put }
	if err := json.NewDecoder(r.Body).Decode(&transaction); err != nil || r.URL.Path != "/v3/kv/txn" {
		http.Error(w, "no transaction", http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range transaction.Success {
		g.keys[string(p.Request.Key)] = p.Request.Value
	}
}

func TestSeedWritesEveryPodInStorageEncoding(t *testing.T) {
	g := &gateway{keys: map[string][]byte{}}
	server := httptest.NewServer(g)
	defer server.Close()
	spec := dataset.D1
	spec.Pods = 2*seedBatch + 1 // the last batch is not full
	if err := seed(t.Context(), &etcd{url: server.URL, client: server.Client()}, spec); err != nil {
		t.Fatal(err)
	}
	if len(g.keys) != spec.Pods {
		t.Errorf("got %d keys for %d pods", len(g.keys), spec.Pods)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := protobuf.NewSerializer(scheme, scheme)
	for want := range spec.All() {
		stored := g.keys["/registry/pods/"+want.Namespace+"/"+want.Name]
		got := &corev1.Pod{}
		_, kind, err := decoder.Decode(stored, nil, got)
		if err != nil {
			t.Fatalf("%s/%s: %v", want.Namespace, want.Name, err)
		}
		got.TypeMeta = want.TypeMeta // a decoded object has no TypeMeta
		if kind.String() != "/v1, Kind=Pod" || !equality.Semantic.DeepEqual(got, want) {
			t.Fatalf("%s/%s was decoded as a different %s", want.Namespace, want.Name, kind)
		}
	}
}

func TestSeedFailsWhenEtcdRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "etcdserver: request is too large", http.StatusBadRequest)
	}))
	defer server.Close()
	spec := dataset.D1
	spec.Pods = 1
	err := seed(t.Context(), &etcd{url: server.URL, client: server.Client()}, spec)
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v, want etcd's error", err)
	}
}
