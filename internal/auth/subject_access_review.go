package auth

import (
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
)

// subjectAccessReview returns the review of a request, with all attributes of the user that authorizers may use. The
// Node authorizer needs the groups, and the scopes of a token are in extra.
func subjectAccessReview(a Attributes) *authorizationv1.SubjectAccessReview {
	info := a.Caller.Info
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: extraValues(info),
	}
	if a.Path != "" && a.Resource == "" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
	} else {
		spec.ResourceAttributes = resourceAttributes(a)
	}
	return &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}, Spec: spec,
	}
}

// extraValues returns extra with keys in lower case, as the API requires. Keys that differ only in case are merged.
func extraValues(info user.Info) map[string]authorizationv1.ExtraValue {
	extra := info.GetExtra()
	if len(extra) == 0 {
		return nil
	}
	out := make(map[string]authorizationv1.ExtraValue, len(extra))
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		lower := strings.ToLower(key)
		out[lower] = append(out[lower], extra[key]...)
	}
	return out
}

func resourceAttributes(a Attributes) *authorizationv1.ResourceAttributes {
	attributes := &authorizationv1.ResourceAttributes{
		Verb: a.Verb, Group: a.Group, Version: a.Version, Resource: a.Resource, Subresource: a.Subresource,
		Namespace: a.Namespace, Name: a.Name,
	}
	if fieldRequirements := fieldRequirements(a.Fields); len(fieldRequirements) > 0 {
		attributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: fieldRequirements}
	}
	if labelRequirements := labelRequirements(a.Labels); len(labelRequirements) > 0 {
		attributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: labelRequirements}
	}
	return attributes
}

// fieldRequirements converts the requirements of a field selector for a review. It drops requirements that a review
// cannot express, such as one without a field; kube-apiserver rejects such a read later. A review without a requirement
// covers more objects, so it allows no read that a review with the requirement would refuse.
func fieldRequirements(requirements fields.Requirements) []metav1.FieldSelectorRequirement {
	var out []metav1.FieldSelectorRequirement
	for _, r := range requirements {
		requirement := metav1.FieldSelectorRequirement{Key: r.Field, Values: []string{r.Value}}
		switch r.Operator {
		case selection.Equals, selection.DoubleEquals, selection.In:
			requirement.Operator = metav1.FieldSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			requirement.Operator = metav1.FieldSelectorOpNotIn
		default: // field selectors have no other operators
		}
		if len(validation.ValidateFieldSelectorRequirement(requirement, validation.FieldSelectorValidationOptions{},
			nil)) == 0 {
			out = append(out, requirement)
		}
	}
	return out
}

// labelRequirements converts the requirements of a label selector for a review. It drops requirements that a review
// cannot express, as fieldRequirements does.
func labelRequirements(requirements labels.Requirements) []metav1.LabelSelectorRequirement {
	var out []metav1.LabelSelectorRequirement
	for _, r := range requirements {
		operator, ok := labelOperator(r.Operator())
		if !ok {
			continue
		}
		requirement := metav1.LabelSelectorRequirement{Key: r.Key(), Operator: operator}
		if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = r.ValuesUnsorted()
		}
		if len(validation.ValidateLabelSelectorRequirement(requirement, validation.LabelSelectorValidationOptions{},
			nil)) == 0 {
			out = append(out, requirement)
		}
	}
	return out
}

func labelOperator(operator selection.Operator) (metav1.LabelSelectorOperator, bool) {
	switch operator {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return metav1.LabelSelectorOpIn, true
	case selection.NotEquals, selection.NotIn:
		return metav1.LabelSelectorOpNotIn, true
	case selection.Exists:
		return metav1.LabelSelectorOpExists, true
	case selection.DoesNotExist:
		return metav1.LabelSelectorOpDoesNotExist, true
	default:
		return "", false
	}
}
