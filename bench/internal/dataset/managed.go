package dataset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listKeys are the keys that identify the elements of lists whose elements kube-apiserver tracks separately. It tracks
// any other list as one field.
var listKeys = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "volumes": {"name"}, "imagePullSecrets": {"name"}, "env": {"name"},
	"ports": {"containerPort", "protocol"}, "volumeMounts": {"mountPath"}, "conditions": {"type"}, "podIPs": {"ip"},
	"ownerReferences": {"uid"},
}

// templateSet returns the field set that kube-controller-manager owns in every pod of a template.
func templateSet(template *corev1.Pod) string {
	return fieldSet(map[string]any{
		"metadata": map[string]any{
			"generateName": "", "labels": template.Labels, "annotations": template.Annotations,
			"ownerReferences": template.OwnerReferences,
		},
		"spec": template.Spec,
	})
}

// managers returns the managed fields of a pod: of its controller, of a network agent, and of the kubelet.
func (a *application) managers(r *rand.Rand, p *corev1.Pod) []metav1.ManagedFieldsEntry {
	created := p.CreationTimestamp
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", created, a.owned),
		entry("mesh-network-agent", "status", after(r, created, 10),
			`{"f:metadata":{"f:annotations":{"f:network.example.com/status":{}}}}`),
		entry("kubelet", "status", after(r, created, 100), statusSet(p.Status.PodIP)),
	}
}

func entry(manager, subresource string, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

// statusSet returns the field set that the kubelet owns in a running pod. Only the address differs between pods.
func statusSet(ip string) string {
	var b strings.Builder
	b.WriteString(`{"f:status":{"f:conditions":{`)
	for i, kind := range []string{"ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"} {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"type\":\"%s\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},`+
			`"f:status":{},"f:type":{}}`, kind)
	}
	fmt.Fprintf(&b, `},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:initContainerStatuses":{},`+
		`"f:observedGeneration":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"%s\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`, ip)
	return b.String()
}

// fieldSet renders the fields of a value as a FieldsV1. The value is JSON by construction.
func fieldSet(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("BUG: encode a pod: %v", err))
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		panic(fmt.Sprintf("BUG: decode a pod: %v", err))
	}
	return render(owned(tree, ""))
}

// owned returns the tree of a value's fields. name is the name of the field with this value.
func owned(value any, name string) map[string]any {
	set := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for field, child := range v {
			set["f:"+field] = owned(child, field)
		}
		if name != "" && name != "metadata" && name != "spec" {
			set["."] = map[string]any{}
		}
	case []any:
		keys := listKeys[name]
		for _, element := range v {
			fields, ok := element.(map[string]any)
			if !ok || keys == nil {
				break
			}
			set["."] = map[string]any{}
			set["k:"+render(choose(fields, keys))] = owned(element, "element")
		}
	}
	return set
}

func choose(from map[string]any, keys []string) map[string]any {
	chosen := make(map[string]any, len(keys))
	for _, key := range keys {
		chosen[key] = from[key]
	}
	return chosen
}

func render(tree map[string]any) string {
	data, err := json.Marshal(tree)
	if err != nil {
		panic(fmt.Sprintf("BUG: encode a field set: %v", err))
	}
	return string(data)
}
