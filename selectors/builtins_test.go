package selectors_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

// same returns a map of labels that conversion does not change.
func same(labels ...string) map[string]string {
	m := map[string]string{}
	for _, label := range labels {
		m[label] = label
	}
	return m
}

// and adds a label that conversion renames.
func and(m map[string]string, request, canonical string) map[string]string {
	m[request] = canonical
	return m
}

var eventsAccept = map[string]string{
	"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace", "reason": "reason", "type": "type",
	"regarding.kind": "involvedObject.kind", "regarding.namespace": "involvedObject.namespace",
	"regarding.name": "involvedObject.name", "regarding.uid": "involvedObject.uid",
	"regarding.apiVersion":      "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion", "regarding.fieldPath": "involvedObject.fieldPath",
	"reportingController": "reportingComponent",
}

const (
	plainly   = "field label not supported: %s"
	byDefault = `%q is not a known field selector: only "metadata.name", "metadata.namespace"`
	forJob    = "field label %q not supported for Job"
)

// kindTable is the table of semantics 5.3, with examples for kinds with the default table.
var kindTable = []struct {
	kind    string // group/version/kind
	scope   selectors.Scope
	accepts map[string]string
	refusal string
}{
	{"/v1/Pod", selectors.Namespaced, and(same("metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy",
		"spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
		"status.nominatedNodeName"), "spec.host", "spec.nodeName"), plainly},
	{"/v1/Node", selectors.Cluster, same("metadata.name", "spec.unschedulable"), plainly},
	{"/v1/ReplicationController", selectors.Namespaced, same("metadata.name", "metadata.namespace", "status.replicas"), plainly},
	{"/v1/Event", selectors.Namespaced, same("metadata.name", "metadata.namespace", "involvedObject.kind",
		"involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
		"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"), plainly},
	{"/v1/Namespace", selectors.Cluster, same("metadata.name", "status.phase"), plainly},
	{"/v1/Secret", selectors.Namespaced, same("metadata.name", "metadata.namespace", "type"), plainly},
	{"/v1/Service", selectors.Namespaced, same("metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"), plainly},
	{"events.k8s.io/v1/Event", selectors.Namespaced, eventsAccept, plainly},
	{"events.k8s.io/v1beta1/Event", selectors.Namespaced, eventsAccept, plainly},
	{"batch/v1/Job", selectors.Namespaced, same("metadata.name", "metadata.namespace", "status.successful"), forJob},
	{"certificates.k8s.io/v1/CertificateSigningRequest", selectors.Cluster, same("metadata.name", "spec.signerName"), plainly},
	{"certificates.k8s.io/v1beta1/ClusterTrustBundle", selectors.Cluster, same("metadata.name", "spec.signerName"), plainly},
	{"certificates.k8s.io/v1/PodCertificateRequest", selectors.Namespaced,
		same("metadata.name", "spec.signerName", "spec.podName", "spec.nodeName"), plainly},
	{"resource.k8s.io/v1/ResourceSlice", selectors.Cluster, same("metadata.name", "spec.nodeName", "spec.driver", "spec.pool.name"),
		"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s"},
	{"resource.k8s.io/v1beta2/ResourceSlice", selectors.Cluster, same("metadata.name", "spec.nodeName", "spec.driver", "spec.pool.name"),
		"field label not supported for resource.k8s.io/v1beta2, Kind=ResourceSlice: %s"},
	{"apps/v1/ReplicaSet", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
	{"apps/v1/Deployment", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
	{"/v1/ConfigMap", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
	{"/v1/PersistentVolume", selectors.Cluster, same("metadata.name", "metadata.namespace"), byDefault},
	{"coordination.k8s.io/v1beta1/LeaseCandidate", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
	{"batch/v1/CronJob", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
	{"certificates.k8s.io/v1alpha1/CertificateSigningRequest", selectors.Cluster, same("metadata.name", "metadata.namespace"), byDefault},
	{"example.io/v1/Pod", selectors.Namespaced, same("metadata.name", "metadata.namespace"), byDefault},
}

// everyLabel returns all labels that any kind accepts, and similar ones.
func everyLabel() []string {
	labels := []string{"foo", "", "name", "status.replicas", "spec.leaseName", "metadata.uid", "Metadata.name", `a"b`}
	for _, row := range kindTable {
		for label := range row.accepts {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

func parseKind(t *testing.T, text string) schema.GroupVersionKind {
	t.Helper()
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		t.Fatalf("%q is not a group/version/kind", text)
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}
}

func TestBuiltinFieldLabels(t *testing.T) {
	for _, row := range kindTable {
		t.Run(row.kind, func(t *testing.T) {
			checkLabelsOfKind(t, selectors.ForBuiltin(parseKind(t, row.kind), row.scope), row.accepts, row.refusal)
		})
	}
}

func TestCustomFieldLabels(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.io", Version: "v1", Kind: "Widget"}
	paths := []string{".spec.color", ".spec.size", ".status.foo-bar"}
	namespaced := selectors.ForCustom(gvk, selectors.Namespaced, paths)
	checkLabelsOfKind(t, namespaced, same("metadata.name", "metadata.namespace", "spec.color", "spec.size", "status.foo-bar"), plainly)
	cluster := selectors.ForCustom(gvk, selectors.Cluster, nil)
	checkLabelsOfKind(t, cluster, same("metadata.name"), plainly)

	want := []selectors.Field{
		{Label: "spec.color", Paths: []string{"spec.color"}},
		{Label: "spec.size", Paths: []string{"spec.size"}},
		{Label: "status.foo-bar", Paths: []string{"status.foo-bar"}},
	}
	if diff := cmp.Diff(want, namespaced.Fields()); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// checkLabelsOfKind checks which labels a kind accepts and how it converts or rejects them.
func checkLabelsOfKind(t *testing.T, k *selectors.Kind, accepts map[string]string, refusal string) {
	t.Helper()
	labels := everyLabel()
	for label := range accepts {
		labels = append(labels, label)
	}
	for _, label := range labels {
		selector, err := parseFields(k, label+"!=v")
		if canonical, ok := accepts[label]; ok {
			if err != nil || selector.String() != canonical+"!=v" {
				t.Errorf("%q: got %v, %v; want %s", label, selector, err, canonical)
			}
			continue
		}
		var unsupported *selectors.UnsupportedFieldError
		if !errors.As(err, &unsupported) || unsupported.Field != label || err.Error() != fmt.Sprintf(refusal, label) {
			t.Errorf("%q: got %v, %v; want the error %s", label, selector, err, fmt.Sprintf(refusal, label))
		}
	}
}

// TestLaterLabels: Later returns the fields that not every kube-apiserver supports, by the labels that requests use,
// and no others.
func TestLaterLabels(t *testing.T) {
	for text, want := range map[string]map[string][]string{
		"/v1/Pod": {
			"spec.nodeName=a,status.phase!=b,metadata.name=c": nil, "spec.host=a": nil, "": nil,
			"spec.hostNetwork=true,spec.hostNetwork!=false": {"spec.hostNetwork"},
		},
		"/v1/Service":            {"spec.type=a,metadata.namespace=b,spec.clusterIP=c": {"spec.clusterIP", "spec.type"}, "nope=a": nil},
		"events.k8s.io/v1/Event": {"reportingController=a": {"reportingController"}, "reportingComponent=a": nil, "regarding.name=a": nil},
		"/v1/ConfigMap":          {"metadata.name=a,metadata.namespace=b": nil},
	} {
		kind := selectors.ForBuiltin(parseKind(t, text), selectors.Namespaced)
		for selector, labels := range want {
			parsed, err := selectors.ParseFields(selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := kind.Later(parsed); !slices.Equal(got, labels) {
				t.Errorf("%s, %q: got %q, want %q", text, selector, got, labels)
			}
		}
	}
	custom := selectors.ForCustom(schema.GroupVersionKind{Kind: "Widget"}, selectors.Namespaced, []string{".spec.type"})
	if parsed, err := selectors.ParseFields("spec.type=a"); err != nil || custom.Later(parsed) != nil || custom.Later(nil) != nil {
		t.Errorf("custom resource: got %q, %v, want nil", custom.Later(parsed), err)
	}
}
