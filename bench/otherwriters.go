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
	// renewEvery is the interval between two changes of leases, as with 500 nodes. leases is the number of leases, which
	// change in turn.
	renewEvery = 20 * time.Millisecond
	leases     = 50
	// podEvery is the interval between two changes of pods.
	podEvery = time.Second
)

// beside runs a measurement while other clients write, as in every real cluster. The other clients renew leases, which
// no client reads from the facade, and patch a pod every second.
func (s *stage) beside(ctx context.Context, measure func(context.Context) error) error {
	client, err := writer(ctx, s.cluster)
	if err != nil {
		return err
	}
	pods, err := names(ctx, s.direct, somePods)
	if err != nil {
		return err
	}
	leaseClient := client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1",
		Resource: "leases"}).Namespace(freshNamespace)
	if err := createLeases(ctx, leaseClient); err != nil {
		return err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	writers, writing := errgroup.WithContext(writing)
	writers.Go(func() error {
		return every(writing, renewEvery, func(i int) error { return renew(writing, leaseClient, i%leases) })
	})
	writers.Go(func() error {
		return every(writing, podEvery, func(i int) error { return stamp(writing, s.direct, pods[i%len(pods)]) })
	})
	err = measure(writing)
	stop()
	return errors.Join(writers.Wait(), err)
}

// every calls write at a steady rate until the context ends.
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

func createLeases(ctx context.Context, client dynamic.ResourceInterface) error {
	for i := range leases {
		lease := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": leaseName(i)},
		}}
		if _, err := client.Apply(ctx, leaseName(i), lease, metav1.ApplyOptions{FieldManager: "bench"}); err != nil {
			return fmt.Errorf("create a lease: %w", err)
		}
	}
	return nil
}

func renew(ctx context.Context, client dynamic.ResourceInterface, i int) error {
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	if _, err := client.Patch(ctx, leaseName(i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("renew a lease: %w", err)
	}
	return nil
}

func leaseName(i int) string { return fmt.Sprintf("node-%02d", i) }
