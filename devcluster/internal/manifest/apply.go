package manifest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const fieldManager = "devcluster"

// retryEvery is the interval of retries for an object whose kind or namespace does not exist yet.
const retryEvery = 100 * time.Millisecond

// Applier applies objects as one user.
type Applier struct {
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewApplier returns an applier for the cluster and user of a kubeconfig file.
func NewApplier(kubeconfig string) (*Applier, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1 // no client-side limit; the server's own limits are enough
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	mapper, err := newMapper(config)
	if err != nil {
		return nil, err
	}
	return &Applier{objects: objects, mapper: mapper}, nil
}

func newMapper(config *rest.Config) (*restmapper.DeferredDiscoveryRESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)), nil
}

// Files applies every object of the files that match the pattern (fs.Glob), in the order of the files' names.
func (a *Applier) Files(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return fmt.Errorf("find manifests: %w", err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read manifest: %w", err)
		}
		if err := a.YAML(ctx, data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// YAML applies the objects of one file in order.
func (a *Applier) YAML(ctx context.Context, data []byte) error {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("split manifest: %w", err)
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("parse manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue // a document with comments only
		}
		if err := a.apply(ctx, &object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// apply retries until the object's kind is served and its namespace exists, or ctx ends.
func (a *Applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		err := a.applyOnce(ctx, object)
		if err == nil || !early(err) {
			return err
		}
		a.mapper.Reset()
		select {
		case <-ctx.Done():
			return err
		case <-retry.C:
		}
	}
}

func (a *Applier) applyOnce(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = a.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = a.objects.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// early reports whether the cluster is not ready for the object: kind not served, namespace missing, or server
// overloaded.
func early(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}
