package selectors_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

var subject = corev1.ObjectReference{
	Kind: "Pod", Namespace: "n", Name: "p", UID: "u", APIVersion: "v1", ResourceVersion: "7", FieldPath: "f",
}

var node = "n1"

// eventFields returns the field set that the server computes for an event.
func eventFields(source string) map[string]string {
	set := map[string]string{
		"involvedObject.kind": "Pod", "involvedObject.namespace": "n", "involvedObject.name": "p", "involvedObject.uid": "u",
		"involvedObject.apiVersion": "v1", "involvedObject.resourceVersion": "7", "involvedObject.fieldPath": "f",
		"reason": "Started", "reportingComponent": "kubelet", "type": "Normal",
	}
	if source != "" {
		set["source"] = source
	}
	return set
}

// Objects are encoded with kube-apiserver's Go types. The expected values are those that its registry puts into the
// field set (semantics 5.3, second table).
var valueTable = []struct {
	name   string
	gvk    schema.GroupVersionKind
	object any
	want   map[string]string
}{
	{"empty pod", podKind, corev1.Pod{}, map[string]string{
		"spec.nodeName": "", "spec.restartPolicy": "", "spec.schedulerName": "", "spec.serviceAccountName": "",
		"spec.hostNetwork": "false", "status.phase": "", "status.podIP": "", "status.nominatedNodeName": "",
	}},
	{"full pod", podKind, corev1.Pod{
		Spec: corev1.PodSpec{
			NodeName: "n1", RestartPolicy: "Always", SchedulerName: "s", ServiceAccountName: "sa", HostNetwork: true,
		},
		Status: corev1.PodStatus{
			Phase: "Running", PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}, NominatedNodeName: "n2",
		},
	}, map[string]string{
		"spec.nodeName": "n1", "spec.restartPolicy": "Always", "spec.schedulerName": "s", "spec.serviceAccountName": "sa",
		"spec.hostNetwork": "true", "status.phase": "Running", "status.podIP": "10.0.0.1", "status.nominatedNodeName": "n2",
	}},
	{"pod of an old kubelet", podKind, corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.9"}}, map[string]string{
		"spec.nodeName": "", "spec.restartPolicy": "", "spec.schedulerName": "", "spec.serviceAccountName": "",
		"spec.hostNetwork": "false", "status.phase": "", "status.podIP": "10.0.0.9", "status.nominatedNodeName": "",
	}},
	{"schedulable node", nodeKind, corev1.Node{}, map[string]string{"spec.unschedulable": "false"}},
	{"cordoned node", nodeKind, corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, map[string]string{"spec.unschedulable": "true"}},
	{"empty controller", schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"},
		corev1.ReplicationController{}, map[string]string{"status.replicas": "0"}},
	{"controller", schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"},
		corev1.ReplicationController{Status: corev1.ReplicationControllerStatus{Replicas: 12}}, map[string]string{"status.replicas": "12"}},
	{"event with a source", schema.GroupVersionKind{Version: "v1", Kind: "Event"}, corev1.Event{
		InvolvedObject: subject, Reason: "Started", ReportingController: "kubelet", Type: "Normal",
		Source: corev1.EventSource{Component: "old-kubelet"},
	}, eventFields("old-kubelet")},
	{"event without a source", schema.GroupVersionKind{Version: "v1", Kind: "Event"}, corev1.Event{
		InvolvedObject: subject, Reason: "Started", ReportingController: "kubelet", Type: "Normal",
	}, eventFields("kubelet")},
	{"events.k8s.io", schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, eventsv1.Event{
		Regarding: subject, Reason: "Started", ReportingController: "kubelet", Type: "Normal",
		DeprecatedSource: corev1.EventSource{Component: "old-kubelet"},
	}, eventFields("")},
	{"namespace", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
		corev1.Namespace{Status: corev1.NamespaceStatus{Phase: "Active"}}, map[string]string{"status.phase": "Active"}},
	{"secret", schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
		corev1.Secret{Type: "Opaque"}, map[string]string{"type": "Opaque"}},
	{"service", schema.GroupVersionKind{Version: "v1", Kind: "Service"},
		corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "None", Type: "ClusterIP"}},
		map[string]string{"spec.clusterIP": "None", "spec.type": "ClusterIP"}},
	{"job without success", schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
		batchv1.Job{}, map[string]string{"status.successful": "0"}},
	{"job", schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
		batchv1.Job{Status: batchv1.JobStatus{Succeeded: 3}}, map[string]string{"status.successful": "3"}},
	{"signing request", schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"},
		certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "s.io/x"}},
		map[string]string{"spec.signerName": "s.io/x"}},
	{"trust bundle", schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "ClusterTrustBundle"},
		certificatesv1.ClusterTrustBundle{Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: "s.io/x"}},
		map[string]string{"spec.signerName": "s.io/x"}},
	{"pod certificate", schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"},
		certificatesv1.PodCertificateRequest{Spec: certificatesv1.PodCertificateRequestSpec{SignerName: "s.io/x", PodName: "p", NodeName: "n1"}},
		map[string]string{"spec.signerName": "s.io/x", "spec.podName": "p", "spec.nodeName": "n1"}},
	{"slice for all nodes", schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"},
		resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "d", Pool: resourcev1.ResourcePool{Name: "p"}}},
		map[string]string{"spec.nodeName": "", "spec.driver": "d", "spec.pool.name": "p"}},
	{"slice of a node", schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"},
		resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: &node, Driver: "d", Pool: resourcev1.ResourcePool{Name: "p"}}},
		map[string]string{"spec.nodeName": "n1", "spec.driver": "d", "spec.pool.name": "p"}},
}

func TestFieldPathsFollowTheTable(t *testing.T) {
	for _, row := range valueTable {
		t.Run(row.name, func(t *testing.T) {
			encoded, err := json.Marshal(row.object)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, field := range selectors.ForBuiltin(row.gvk, selectors.Namespaced).Fields() {
				got[field.Label] = valueOf(t, encoded, field)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("fields of %s (-want +got):\n%s", encoded, diff)
			}
		})
	}
}

// valueOf reads a Field as documented, by decoding: slow and simple.
func valueOf(t *testing.T, encoded []byte, field selectors.Field) string {
	t.Helper()
	for _, path := range field.Paths {
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(encoded)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		for step := range strings.SplitSeq(path, ".") {
			value = child(value, step)
		}
		if value != nil && fmt.Sprint(value) != "" {
			return fmt.Sprint(value)
		}
	}
	return field.Default
}

func child(value any, step string) any {
	switch value := value.(type) {
	case map[string]any:
		return value[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i < len(value) {
			return value[i]
		}
	}
	return nil
}
