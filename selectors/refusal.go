package selectors

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusal returns the error text for a field label that a kind does not offer. kube-apiserver has four such texts, and
// the kind decides which one it sends (semantics 5.3).
type refusal func(gvk schema.GroupVersionKind, label string) string

func refusePlainly(_ schema.GroupVersionKind, label string) string {
	return "field label not supported: " + label
}

func refuseByDefault(_ schema.GroupVersionKind, label string) string {
	return fmt.Sprintf("%q is not a known field selector: only %q, %q", label, nameLabel, namespaceLabel)
}

func refuseForJob(_ schema.GroupVersionKind, label string) string {
	return fmt.Sprintf("field label %q not supported for Job", label)
}

func refuseWithKind(gvk schema.GroupVersionKind, label string) string {
	return fmt.Sprintf("field label not supported for %s: %s", gvk, label)
}
