package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	// renewEvery is between two changes of leases: those of 500 nodes are as often renewed. leases are changed in turns.
	renewEvery = 20 * time.Millisecond
	leases     = 50
	// podEvery is between two changes of pods.
	podEvery = time.Second
)

// beside measures while others write, as in every real cluster: leases, which nobody reads from the facade, and now and
// then a pod.
func (s *stage) beside(ctx context.Context, measure func(context.Context) error) error {
	client, err := writer(ctx, s.cluster)
	if err != nil {
		return err
	}
	pods, err := names(ctx, s.direct, somePods)
	if err != nil {
		return err
	}
	held := client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(freshNamespace)
	if err := createLeases(ctx, held); err != nil {
		return err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	writers, writing := errgroup.WithContext(writing)
	writers.Go(func() error {
		return every(writing, renewEvery, func(i int) error { return renew(writing, held, i%leases) })
	})
	writers.Go(func() error {
		return every(writing, podEvery, func(i int) error { return stamp(writing, s.direct, pods[i%len(pods)]) })
	})
	err = measure(writing)
	stop()
	return errors.Join(writers.Wait(), err)
}

// every writes at a steady rate until the context ends.
func every(ctx context.Context, pause time.Duration, write func(i int) error) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := write(i); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func createLeases(ctx context.Context, held dynamic.ResourceInterface) error {
	for i := range leases {
		authorization := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": leaseName(i)},
		}}
		if _, err := held.Apply(ctx, leaseName(i), authorization, metav1.ApplyOptions{FieldManager: "bench"}); err != nil {
			return fmt.Errorf("create a lease: %w", err)
		}
	}
	return nil
}

func renew(ctx context.Context, held dynamic.ResourceInterface, i int) error {
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	if _, err := held.Patch(ctx, leaseName(i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("renew a lease: %w", err)
	}
	return nil
}

func leaseName(i int) string { return fmt.Sprintf("node-%02d", i) }
