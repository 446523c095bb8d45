package wire

import "k8s.io/apimachinery/pkg/runtime/schema"

// conversionAnnotations are the annotations that kube-apiserver adds to objects of a resource when it converts them to
// the requested version. They contain the fields that this version lacks. PartialObjectMetadata does not have these
// annotations, because kube-apiserver makes it before the conversion (k8s.io/kubernetes
// pkg/apis/{apps,autoscaling}/v1/conversion.go).
var conversionAnnotations = map[schema.GroupVersionResource][]string{
	{Group: "apps", Version: "v1", Resource: "daemonsets"}:  {"deprecated.daemonset.template.generation"},
	{Group: "apps", Version: "v1", Resource: "deployments"}: {"deprecated.deployment.rollback.to"},
	{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}: {
		"autoscaling.alpha.kubernetes.io/behavior", "autoscaling.alpha.kubernetes.io/conditions",
		"autoscaling.alpha.kubernetes.io/current-metrics", "autoscaling.alpha.kubernetes.io/metrics",
	},
}

// ConversionAnnotations returns the annotations that objects of a resource have, but their PartialObjectMetadata does
// not. The caller must not modify the result.
func ConversionAnnotations(resource schema.GroupVersionResource) []string {
	return conversionAnnotations[resource]
}
