package selectors_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

var pods = selectors.ForBuiltin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, selectors.Namespaced)

// A request for the pods of an application on one node is compiled into a predicate, which is evaluated for every pod.
func Example() {
	// GET /api/v1/namespaces/shop/pods?labelSelector=app in (web,api)&fieldSelector=spec.nodeName=node-1
	labels, err := selectors.ParseLabels("app in (web,api)")
	if err != nil {
		panic(err)
	}
	fields, err := selectors.ParseFields("spec.nodeName=node-1")
	if err != nil {
		panic(err)
	}
	if fields, err = pods.ConvertFields(fields); err != nil {
		panic(err)
	}
	predicate := pods.Predicate("shop", labels, fields)

	for _, node := range []string{"node-1", "node-2"} {
		values := make([]string, len(pods.Fields())) // the cache scans these from the pod's JSON
		for i, field := range pods.Fields() {
			if field.Label == "spec.nodeName" {
				values[i] = node
			}
		}
		pod := pods.Attributes(selectors.Identity{Namespace: "shop", Name: "web-0"}, []selectors.Label{{Key: "app", Value: "web"}}, values)
		fmt.Println("a web pod on", node, "is selected:", predicate.Matches(&pod))
	}
	if node, ok := predicate.Exact("spec.nodeName"); ok {
		fmt.Println("an index of nodes needs to list", node, "only")
	}
	// Output:
	// a web pod on node-1 is selected: true
	// a web pod on node-2 is selected: false
	// an index of nodes needs to list node-1 only
}

// A field that a kind does not offer is rejected with kube-apiserver's message.
func ExampleKind_ConvertFields() {
	fields, err := selectors.ParseFields("spec.color=red")
	if err != nil {
		panic(err)
	}
	_, err = pods.ConvertFields(fields)
	fmt.Println(err)
	// Output:
	// field label not supported: spec.color
}
