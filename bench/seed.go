package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

const (
	// seedBatch pods of about 13 kB are well below etcd's limit of a transaction.
	seedBatch = 50
	// seedWriters transactions are on their way at the same time.
	seedWriters = 4
)

// seed writes the pods into etcd in the form in which kube-apiserver stores them. It must not run meanwhile: nothing
// tells it whether what it finds went through validation.
func seed(ctx context.Context, store *etcd, pods dataset.Spec) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	encoder := protobuf.NewSerializer(scheme, scheme)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(seedWriters)
	batch := make([]put, 0, seedBatch)
	flush := func() {
		full := batch
		group.Go(func() error { return store.write(ctx, full) })
		batch = make([]put, 0, seedBatch)
	}
	for pod := range pods.All() {
		var value bytes.Buffer
		if err := encoder.Encode(pod, &value); err != nil {
			return errors.Join(fmt.Errorf("encode a pod: %w", err), group.Wait())
		}
		batch = append(batch, newPut("/registry/pods/"+pod.Namespace+"/"+pod.Name, value.Bytes()))
		if len(batch) == seedBatch {
			flush()
		}
	}
	if len(batch) > 0 {
		flush()
	}
	return group.Wait()
}
