package jsonwire

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

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

// appendWithout appends metadata without these annotations, and without any annotations if no other is left.
func appendWithout(dst, metadata []byte, annotations []string) []byte {
	return appendEdited(dst, metadata, func(key, value []byte) []byte {
		if string(key) != "annotations" || value[0] != '{' {
			return value
		}
		left := appendEdited(nil, value, func(key, value []byte) []byte {
			if slices.Contains(annotations, string(key)) {
				return nil
			}
			return value
		})
		if string(left) == "{}" {
			return nil
		}
		return left
	})
}

// appendEdited appends an object whose values went through edit; members that it makes nil are left out. Neither the
// keys of metadata nor those of annotations need escapes, so they are written as they were read.
func appendEdited(dst, object []byte, edit func(key, value []byte) []byte) []byte {
	s, separator := scan.Scanner{Data: object}, byte('{')
	err := s.Object(func(key []byte) error {
		value, err := s.Skip()
		if err != nil {
			return err
		}
		if value = edit(key, value); value == nil {
			return nil
		}
		dst = append(append(dst, separator, '"'), key...)
		dst, separator = append(append(dst, `":`...), value...), ','
		return nil
	})
	if err != nil {
		panic("BUG: metadata that was scanned before is malformed: " + err.Error())
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}
