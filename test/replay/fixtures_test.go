package replay

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/replay"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

type object = map[string]any

// kind is a kind of which tests write objects.
type kind struct {
	schema.GroupVersionResource
	kind    string
	content object // everything but the metadata
}

func of(group, version, resource, name string, content object) kind {
	return kind{schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, name, content}
}

// template is a pod template with its selector.
func template() object {
	labels := object{"app": "web"}
	return object{
		"selector": object{"matchLabels": labels},
		"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []any{object{"name": "web", "image": "web:1", "env": []any{object{"name": "A", "value": "<&>\u2028"}}}}}},
	}
}

// with returns the object with a member added.
func with(o object, name string, value any) object {
	o[name] = value
	return o
}

// kinds are ten kinds. One of them is a custom resource.
var kinds = []kind{
	of("", "v1", "configmaps", "ConfigMap", object{"data": object{"text": "a <b> & \u2028 c"}}),
	of("", "v1", "services", "Service", object{"spec": object{"clusterIP": "None", "ports": []any{object{"port": int64(80)}}}}),
	of("", "v1", "pods", "Pod", object{"spec": object{"containers": []any{object{"name": "web", "image": "web:1"}}}}),
	of("apps", "v1", "deployments", "Deployment", object{"spec": template()}),
	of("apps", "v1", "statefulsets", "StatefulSet", object{"spec": with(template(), "serviceName", "web")}),
	of("apps", "v1", "daemonsets", "DaemonSet", object{"spec": template()}),
	of("networking.k8s.io", "v1", "ingresses", "Ingress", object{"spec": object{"defaultBackend": object{"service": object{"name": "web", "port": object{"number": int64(80)}}}}}),
	of("rbac.authorization.k8s.io", "v1", "roles", "Role", object{"rules": []any{object{"verbs": []any{"get"}, "apiGroups": []any{""}, "resources": []any{"pods"}}}}),
	of("coordination.k8s.io", "v1", "leases", "Lease", object{"spec": object{"holderIdentity": "a", "renewTime": "2026-01-31T03:47:00.000000Z"}}),
	of(suite.Gadgets.Group, "v1", "gadgets", "Gadget", object{"spec": object{"value": "a"}}),
}

// inProtobuf are the kinds of which a journal has protobuf only.
var inProtobuf = []string{"daemonsets.apps", "leases.coordination.k8s.io"}

// recording configures a facade that writes a journal of all kinds.
func recording(dir string) func(*facade.Config) {
	return func(c *facade.Config) {
		c.JournalDir = dir
		c.Resources = map[schema.GroupResource]facade.Resource{}
		for _, name := range inProtobuf {
			c.Resources[schema.ParseGroupResource(name)] = facade.Resource{Preload: []string{"protobuf"}}
		}
		c.Preload = nil
		for _, k := range kinds {
			if _, special := c.Resources[k.GroupResource()]; !special {
				c.Preload = append(c.Preload, k.GroupResource().String())
			}
		}
	}
}

// put creates an object of a kind, and returns its resourceVersion.
func (k *kind) put(t *testing.T, s *suite.Fixture, name string) uint64 {
	t.Helper()
	content := object{"apiVersion": k.GroupVersion().String(), "kind": k.kind, "metadata": object{"name": name, "labels": object{"app": "web", "round": "0"}}}
	for member, value := range k.content {
		content[member] = value
	}
	s.Create(t, k.GroupVersionResource, content)
	return s.Patch(t, k.GroupVersionResource, name, `{"metadata":{"labels":{"round":"1"}}}`)
}

// serve replays a journal at a moment until the test ends, or the returned function is called.
func serve(t *testing.T, dir, at string, set ...func(*replay.Options)) (config *rest.Config, stop func()) {
	t.Helper()
	o := replay.Options{Dir: dir, At: at, Speed: 1, Frozen: true}
	for _, change := range set {
		change(&o)
	}
	r, err := replay.Open(t.Context(), o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		r.Close()
	}
	t.Cleanup(stop)
	return &rest.Config{Host: "http://" + listener.Addr().String(), QPS: -1}, stop
}

func number(rv uint64) string { return strconv.FormatUint(rv, 10) }

// record starts a facade that writes a journal until the returned function is called. The journal then has all earlier
// changes of the kinds.
func record(t *testing.T, s *suite.Fixture, dir string) (end func()) {
	t.Helper()
	f := suite.StartFacade(t, suite.Cluster(t), recording(dir))
	return func() {
		for i := range kinds {
			awaitVersion(t, f, &kinds[i], kinds[i].put(t, s, fmt.Sprint("last-", time.Now().UnixNano())))
		}
		f.Close(t)
	}
}

// awaitVersion waits until the lane of a kind has a resourceVersion, and therefore everything before it.
func awaitVersion(t *testing.T, f *suite.Facade, k *kind, rv uint64) {
	t.Helper()
	testkit.Eventually(t, "the lane has a version", func() error {
		for _, lane := range f.Lanes() {
			if lane.Group == k.Group && lane.Resource == k.Resource && lane.ResourceVersion >= rv {
				return nil
			}
		}
		return fmt.Errorf("no lane of %s has version %d", k.Resource, rv)
	})
}

// awaitJournal waits until the journal has a lane of each kind, and discovery.
func awaitJournal(t *testing.T, dir string) {
	t.Helper()
	awaitLanes(t, dir, len(kinds))
	awaitDiscovery(t, dir)
}

// awaitLanes waits until the journal has a number of lanes. Later changes of their objects are events in it.
func awaitLanes(t *testing.T, dir string, wanted int) {
	t.Helper()
	testkit.Eventually(t, "the journal has all kinds", func() error {
		found, err := journal.Lanes(dir)
		if err == nil && len(found) < wanted {
			err = fmt.Errorf("the journal has only %v", found)
		}
		return err
	})
}

// awaitDiscovery waits until the journal has discovery documents.
func awaitDiscovery(t *testing.T, dir string) {
	t.Helper()
	testkit.Eventually(t, "the journal has discovery", func() error {
		found, err := journal.DocumentsAt(t.Context(), dir, time.Now())
		if err == nil && !slices.ContainsFunc(found, func(d journal.Document) bool { return d.Path == "/apis" }) {
			err = fmt.Errorf("the journal has only %d documents", len(found))
		}
		return err
	})
}
