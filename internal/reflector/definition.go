package reflector

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listfacade/listfacade/internal/upstream"
)

// definitionLimit is the maximum size of a CustomResourceDefinition in bytes; etcd stores at most 1.5 MB.
const definitionLimit = 8 << 20

// definition is the part of a CRD that a lane of custom resources needs, for one version of the resource.
type definition struct {
	uid        string
	version    string            // resourceVersion of the CRD
	listKind   string            // list kind in the status; its changes do not raise the generation
	generation int64             // rises with every change of the CRD's spec
	bytes      int               // size of the CRD as JSON
	selectable []string          // JSONPaths of selectable fields, without the leading dot
	datePaths  map[string]string // JSONPath of each printed column of type date, by the column's name
}

// definitionMeta is the part of a CRD that shows whether the CRD has changed.
type definitionMeta struct {
	Name, UID, ResourceVersion string
	Generation                 int64
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func definitionOf(r upstream.Resource) string {
	return definitionsPath + "/" + r.GVR.GroupResource().String()
}

// representsAs reports whether objects have the same representation under both definitions.
func (d definition) representsAs(other definition) bool {
	return d.uid == other.uid && d.generation == other.generation && d.listKind == other.listKind
}

func define(ctx context.Context, c *upstream.Client, r upstream.Resource) (definition, error) {
	body, err := c.Get(ctx, upstream.Target{Path: definitionOf(r)}, upstream.MediaJSON, definitionLimit)
	if err != nil {
		return definition{}, err
	}
	return readDefinition(body, r)
}

func readDefinition(body []byte, r upstream.Resource) (definition, error) {
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
		return definition{}, fmt.Errorf("read definition of %s: %w", r.GVR.Resource, err)
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
