package reflector

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listfacade/listfacade/internal/upstream"
)

// definitionLimit bounds a CustomResourceDefinition in bytes; etcd holds at most 1.5 MB of it.
const definitionLimit = 8 << 20

// definition is what a lane of custom resources must know from their CRD, of one version.
type definition struct {
	uid        string
	version    string            // its resourceVersion, when it was read
	listKind   string            // as it is accepted, which is not a part of the spec
	generation int64             // rises with every change of the CRD's spec
	bytes      int               // of all of it, as JSON
	selectable []string          // JSONPaths of selectable fields, without the leading dot
	datePaths  map[string]string // of printed columns that hold a date: column name to JSONPath as it is written
}

// definitionMeta is the part of a CRD that tells whether it has changed.
type definitionMeta struct {
	Name, UID, ResourceVersion string
	Generation                 int64
}

// definitionsPath is that of all CustomResourceDefinitions.
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definitionOf is the path of a custom resource's definition.
func definitionOf(r upstream.Resource) string {
	return definitionsPath + "/" + r.GVR.GroupResource().String()
}

// representsAs reports whether objects look the same by both definitions.
func (d definition) representsAs(other definition) bool {
	return d.uid == other.uid && d.generation == other.generation && d.listKind == other.listKind
}

// define reads the CRD of a custom resource.
func define(ctx context.Context, c *upstream.Client, r upstream.Resource) (definition, error) {
	body, err := c.Get(ctx, upstream.Target{Path: definitionOf(r)}, upstream.MediaJSON, definitionLimit)
	if err != nil {
		return definition{}, err
	}
	var crd struct {
		Metadata definitionMeta
		Status   struct{ AcceptedNames struct{ ListKind string } }
		Spec     struct {
			Versions []struct {
				Name                     string
				AdditionalPrinterColumns []struct{ Name, Type, JSONPath string }
				SelectableFields         []struct{ JSONPath string }
			}
		}
	}
	if err := json.Unmarshal(body, &crd); err != nil {
		return definition{}, fmt.Errorf("read the definition of %s: %w", r.GVR.Resource, err)
	}
	d := definition{
		uid: crd.Metadata.UID, version: crd.Metadata.ResourceVersion, listKind: crd.Status.AcceptedNames.ListKind,
		generation: crd.Metadata.Generation, bytes: len(body), datePaths: map[string]string{},
	}
	for _, version := range crd.Spec.Versions {
		if version.Name != r.GVR.Version {
			continue
		}
		for _, field := range version.SelectableFields {
			d.selectable = append(d.selectable, strings.TrimPrefix(field.JSONPath, "."))
		}
		for _, column := range version.AdditionalPrinterColumns {
			if column.Type == "date" {
				d.datePaths[column.Name] = column.JSONPath
			}
		}
	}
	return d, nil
}
