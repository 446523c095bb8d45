package soak

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kind is one of those that are written, watched and read. Nobody but the test writes objects with its label.
type kind struct {
	testkit.FreshKind
	namespace string
	prefix    string // of its keys in etcd
}

// markLabel is on every object that the test writes; its value is the fixture's namespace.
const markLabel = "soak"

// prefixes are where the kinds are in etcd; the other FreshKinds are not part of this test.
var prefixes = map[string]string{
	"leases": "/registry/leases/", "configmaps": "/registry/configmaps/", "services": "/registry/services/specs/",
	"ingresses": "/registry/ingress/", "networkpolicies": "/registry/networkpolicies/", "roles": "/registry/roles/",
	"priorityclasses": "/registry/priorityclasses/", "storageclasses": "/registry/storageclasses/",
	"gadgets": "/registry/watch.example.com/gadgets/", "events": "/registry/events/",
}

// newKinds are ten kinds: namespaced and not, a custom one, and events, which kube-apiserver reads from etcd and which
// go by themselves, several at one version.
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

// collection is the path of the kind's objects that the test writes; more is of the query, selectors are of labels.
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

// object is the path of one of them.
func (k *kind) object(name string) string { return k.Path(k.namespace) + "/" + name }

// key is that of an object in watches' events.
func (k *kind) key(name string) string {
	if k.Cluster {
		return name
	}
	return k.namespace + "/" + name
}

// ours is the name of the object that a key of etcd is of, if the test writes it.
func (k *kind) ours(etcdKey string) (key string, ok bool) {
	key, ok = strings.CutPrefix(etcdKey, k.prefix)
	if k.Cluster {
		return key, ok && strings.HasPrefix(key, k.namespace+"-")
	}
	return key, ok && strings.HasPrefix(key, k.namespace+"/")
}

// name is that of one of a few objects; those in no namespace are told from others by it.
func (k *kind) name(i int) string {
	if k.Cluster {
		return fmt.Sprintf("%s-o%d", k.namespace, i)
	}
	return fmt.Sprintf("o%d", i)
}

// content is what is sent to make an object.
func (k *kind) content(name string, metadata map[string]any) ([]byte, error) {
	content := map[string]any{"apiVersion": k.GVR.GroupVersion().String(), "kind": k.Kind}
	for field, value := range k.Content {
		content[field] = value
	}
	metadata["name"] = name
	content["metadata"] = metadata
	return json.Marshal(content)
}
