package wire

import "k8s.io/apimachinery/pkg/runtime/schema"

// conversionAnnotations are those that the conversion to a version of a kind writes for fields that the version lacks.
// They are in the objects that kube-apiserver sends, but not in PartialObjectMetadata, which it makes before that
// conversion (k8s.io/kubernetes pkg/apis/{apps,autoscaling}/v1/conversion.go).
var conversionAnnotations = map[schema.GroupVersionResource][]string{
	{Group: "apps", Version: "v1", Resource: "daemonsets"}:  {"deprecated.daemonset.template.generation"},
	{Group: "apps", Version: "v1", Resource: "deployments"}: {"deprecated.deployment.rollback.to"},
	{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}: {
		"autoscaling.alpha.kubernetes.io/behavior", "autoscaling.alpha.kubernetes.io/conditions",
		"autoscaling.alpha.kubernetes.io/current-metrics", "autoscaling.alpha.kubernetes.io/metrics",
	},
}

// ConversionAnnotations names the annotations of a resource's objects that their PartialObjectMetadata leaves out; not
// to be changed.
func ConversionAnnotations(resource schema.GroupVersionResource) []string {
	return conversionAnnotations[resource]
}
