package testkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// foundations are the fixture files that other fixtures depend on, in this order.
var foundations = []string{"apiextensions.k8s.io_customresourcedefinitions.yaml", "core_namespaces.yaml",
	"core_services.yaml"}

type furnisher struct {
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// Furnish applies every object in a directory's YAML files, including its status. Custom resource definitions and
// namespaces come first. Furnish updates existing objects, so it may be called repeatedly.
func Furnish(ctx context.Context, config *rest.Config, files fs.FS) error {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return err
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return FurnishFiles(ctx, config, files, names...)
}

// FurnishFiles is Furnish for the named files, in this order.
func FurnishFiles(ctx context.Context, config *rest.Config, files fs.FS, names ...string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	f := &furnisher{objects: objects,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))}
	for _, name := range names {
		if err := f.file(ctx, files, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// rank returns a file's sort key. Foundations come first; all other files have the same key.
func rank(name string) int {
	if at := slices.Index(foundations, name); at >= 0 {
		return at
	}
	return len(foundations)
}

func (f *furnisher) file(ctx context.Context, files fs.FS, name string) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return err
		}
		if err := f.apply(ctx, &object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// apply repeats applyOnce until the object's kind is served and its namespace exists.
func (f *furnisher) apply(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, settings.Patience())
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	var early error
	for {
		err := f.applyOnce(ctx, object)
		if err != nil && ctx.Err() != nil && early != nil {
			return early // the reason for the wait says more than the timeout
		}
		if err == nil || !tooEarly(err) {
			return err
		}
		if meta.IsNoMatchError(err) && settings.Upstream() != "" && builtIn(object.GroupVersionKind().Group) {
			return nil // an older release does not have every kind
		}
		early = err
		f.mapper.Reset()
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

func (f *furnisher) applyOnce(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := f.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = f.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = f.objects.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	options := metav1.ApplyOptions{FieldManager: "fixtures", Force: true}
	if _, err := client.Apply(ctx, object.GetName(), object, options); err != nil {
		return err
	}
	if _, ok := object.Object["status"]; !ok {
		return nil
	}
	_, err = client.ApplyStatus(ctx, object.GetName(), object, options)
	return err
}

// builtIn reports whether a group is built into Kubernetes. All kinds of such a group are served from the start.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// tooEarly reports whether an error may disappear while the cluster starts. For example, the kind is not served yet,
// the namespace is missing, the server's caches are not filled, or a controller has not created a service account.
func tooEarly(err error) bool {
	if apierrors.IsForbidden(err) {
		return strings.Contains(err.Error(), "error looking up service account") ||
			strings.Contains(err.Error(), "status unknown for quota")
	}
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err)
}
