package main

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// TestReadYourWrites: what was written before a request without a resourceVersion is in its answer, whether the resource is quiet
// or changes all the time.
func TestReadYourWrites(t *testing.T) {
	s := newStage(t, cluster)
	s.defineGadgets(t)
	client := newClients(t, startFacade(t, cluster).Config).dynamic
	busy, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // keeps config maps busy; gadgets are quiet
		defer close(done)
		for i := 0; busy.Err() == nil; i++ {
			if _, err := s.in(configMaps).Create(busy, newObject(configMaps, fmt.Sprintf("busy%d", i), "", "1"), metav1.CreateOptions{}); err != nil && busy.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	defer func() { stop(); <-done }()
	for i := range 50 { // 200 writes
		for _, gvr := range []schema.GroupVersionResource{configMaps, gadgets} {
			s.readsWrite(t, client, gvr, i)
		}
	}
}

// readsWrite writes once, then reads in every way that promises the most recent state.
func (s *stage) readsWrite(t *testing.T, client dynamic.Interface, gvr schema.GroupVersionResource, i int) {
	t.Helper()
	in := client.Resource(gvr).Namespace(s.namespace)
	name := fmt.Sprintf("mine%d", i%5)
	rv := fmt.Sprint(s.put(t, gvr, name, "mine=yes", fmt.Sprint(i)))
	object, err := in.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if object.GetResourceVersion() != rv {
		t.Fatalf("write %d of %s: get shows %s, written was %s", i, gvr.Resource, object.GetResourceVersion(), rv)
	}
	rv = fmt.Sprint(s.put(t, gvr, name, "mine=yes", fmt.Sprint(i, "again")))
	list, err := in.List(t.Context(), metav1.ListOptions{LabelSelector: "mine=yes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		if item.GetName() == name && item.GetResourceVersion() == rv {
			return
		}
	}
	t.Fatalf("write %d of %s at %s is not in the list at %s", i, gvr.Resource, rv, list.GetResourceVersion())
}
