package replay

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/replay"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// An unmodified kubectl reads from a replay: lists, selectors, wide Tables, YAML, describe and watches. It shows the
// past, also after the objects were changed and deleted.
func TestKubectlReadsAReplay(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	dir := filepath.Join(t.TempDir(), "journal")
	end := record(t, s, dir)
	awaitJournal(t, dir)
	for i := range kinds {
		kinds[i].put(t, s, "web")
	}
	rv := s.Put(t, suite.ConfigMaps, "other", "app=other", "before")
	s.Patch(t, suite.ConfigMaps, "other", `{"data":{"value":"after"}}`)
	for _, k := range kinds {
		s.Remove(t, k.GroupVersionResource, "web")
	}
	end()
	config, _ := serve(t, dir, number(rv))
	kubectl := testkit.NewKubectl(t, suite.Cluster(t).Binaries["kubectl"], config)
	in := func(args ...string) []string { return append([]string{"--namespace", s.Namespace}, args...) }
	for _, test := range []struct {
		args, want, not string
	}{
		{"get configmaps", "other", ""},
		{"get cm,svc,po,deploy,sts,ds,ing,roles,leases,gadgets -l app=web -o name", "configmap/web service/web pod/web deployment.apps/web statefulset.apps/web daemonset.apps/web ingress.networking.k8s.io/web role.rbac.authorization.k8s.io/web lease.coordination.k8s.io/web gadget.watch.example.com/web", "other"},
		{"get pods -o wide", "NOMINATED", ""},
		{"get deploy -o wide", "SELECTOR", ""},
		{"get gadgets", "VALUE", ""},
		{"get daemonsets", "web", ""}, // recorded in protobuf
		{"get configmap other -o yaml", "value: before", "after"},
		{"get deploy web -o json", `"image": "web:1"`, ""},
		{"get lease web -o yaml", "holderIdentity: a", ""},
		{"get pods --field-selector metadata.name=web", "web", ""},
		{"get configmaps --chunk-size 1", "other", ""},
		{"describe pod web", "Image:", ""},
		{"describe deployment web", "app=web", ""},
		{"api-resources --api-group watch.example.com", "gadgets", ""},
		{"auth can-i list pods", "yes", ""},
		{"auth can-i delete pods", "no", ""},
		{"version", "Server Version: v", ""},
		{"get secrets", "the journal does not have secrets", ""},
		{"delete configmap other", "MethodNotAllowed", ""},
	} {
		got := kubectl.Run(t, in(strings.Fields(test.args)...)...)
		for want := range strings.FieldsSeq(test.want) {
			if !strings.Contains(got, want) {
				t.Errorf("kubectl %s: got\n%s, want %q", test.args, got, test.want)
			}
		}
		if test.not != "" && strings.Contains(got, test.not) {
			t.Errorf("kubectl %s: got\n%s, want no %q", test.args, got, test.not)
		}
	}
	playing, _ := serve(t, dir, number(rv), func(o *replay.Options) { o.Frozen, o.Speed = false, 1e6 })
	watching := testkit.NewKubectl(t, suite.Cluster(t).Binaries["kubectl"], playing)
	path := suite.Collection(suite.ConfigMaps, s.Namespace) + "?watch=1&resourceVersion=" + number(rv)
	for line := range watching.Follow(t, "get", "--raw", path) {
		if strings.HasPrefix(line, `{"type":"DELETED"`) && strings.Contains(line, `"name":"web"`) {
			return
		}
	}
	t.Error("the watch ended before the deletion")
}
