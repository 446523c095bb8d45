package soak

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kind is a kind that clients write, watch and read. Only the test writes objects with its label.
type kind struct {
	testkit.FreshKind
	namespace string
	prefix    string // prefix of its keys in etcd
}

// markLabel is a label of every object that the test writes. Its value is the fixture's namespace.
const markLabel = "soak"

// prefixes are the prefixes of the kinds in etcd. The other FreshKinds are not part of this test.
var prefixes = map[string]string{
	"leases": "/registry/leases/", "configmaps": "/registry/configmaps/", "services": "/registry/services/specs/",
	"ingresses": "/registry/ingress/", "networkpolicies": "/registry/networkpolicies/", "roles": "/registry/roles/",
	"priorityclasses": "/registry/priorityclasses/", "storageclasses": "/registry/storageclasses/",
	"gadgets": "/registry/watch.example.com/gadgets/", "events": "/registry/events/",
}

// newKinds returns ten kinds: namespaced and cluster-scoped ones, a custom one, and events. kube-apiserver reads events
// from etcd, and they expire, several at one version.
func newKinds(namespace string) []*kind {
	candidates := append(testkit.FreshKinds(),
		testkit.FreshKind{GVR: suite.Gadgets, Kind: "Gadget", Content: map[string]any{"spec": map[string]any{"value": "v"}}},
		testkit.FreshKind{GVR: suite.Events, Kind: "Event", Content: map[string]any{
			"involvedObject": map[string]any{"kind": "ConfigMap", "name": "o0", "namespace": namespace}}},
	)
	var kinds []*kind
	for _, k := range candidates {
		if prefix := prefixes[k.GVR.Resource]; prefix != "" {
			kinds = append(kinds, &kind{FreshKind: k, namespace: namespace, prefix: prefix})
		}
	}
	return kinds
}

// collection returns the path of the test's objects of the kind. more is a part of the query, selectors are label
// selectors.
func (k *kind) collection(more string, selectors ...string) string {
	path := k.Path(k.namespace) + "?" + strings.TrimPrefix(more, "&")
	if k.Cluster {
		selectors = append([]string{markLabel + "=" + k.namespace}, selectors...)
	}
	if len(selectors) > 0 {
		path += "&labelSelector=" + strings.NewReplacer("=", "%3D", "!", "%21", ",", "%2C", " ", "%20").Replace(strings.Join(selectors, ","))
	}
	return path
}

// object returns the path of one object.
func (k *kind) object(name string) string { return k.Path(k.namespace) + "/" + name }

// key returns the key of an object in the events of watches.
func (k *kind) key(name string) string {
	if k.Cluster {
		return name
	}
	return k.namespace + "/" + name
}

// ours returns the object's key for a key of etcd. ok is false if it is not an object of the test.
func (k *kind) ours(etcdKey string) (key string, ok bool) {
	key, ok = strings.CutPrefix(etcdKey, k.prefix)
	if k.Cluster {
		return key, ok && strings.HasPrefix(key, k.namespace+"-")
	}
	return key, ok && strings.HasPrefix(key, k.namespace+"/")
}

// name returns the name of one of a few objects. Names of cluster-scoped objects are unique to the test.
func (k *kind) name(i int) string {
	if k.Cluster {
		return fmt.Sprintf("%s-o%d", k.namespace, i)
	}
	return fmt.Sprintf("o%d", i)
}

// content returns the body that creates an object.
func (k *kind) content(name string, metadata map[string]any) ([]byte, error) {
	content := map[string]any{"apiVersion": k.GVR.GroupVersion().String(), "kind": k.Kind}
	for field, value := range k.Content {
		content[field] = value
	}
	metadata["name"] = name
	content["metadata"] = metadata
	return json.Marshal(content)
}
