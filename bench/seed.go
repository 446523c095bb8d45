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
	// seedBatch is the number of pods in a transaction, which is then well below etcd's limit of 1.5 MiB.
	seedBatch = 50
	// seedWriters is the number of concurrent transactions.
	seedWriters = 4
)

// seed writes the pods into etcd in kube-apiserver's storage encoding. kube-apiserver must be stopped meanwhile,
// because these objects bypass its validation.
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
