package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// automanaged is a label of APIServices. kube-apiserver sets it to "onstart" for its built-in group versions, and to
// "true" for the group versions of CustomResourceDefinitions.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// aggregationGroup has no APIService, because the aggregation layer itself serves it.
const aggregationGroup = "apiregistration.k8s.io"

const apiServicesPath = "/apis/" + aggregationGroup + "/v1/apiservices"

// apiServicesLimit bounds the list of APIServices, in bytes. Each APIService takes a few KB.
const apiServicesLimit = 64 << 20

// apiServices contains the APIServices by group version. It is nil if the upstream refuses the list of APIServices, or
// has none.
type apiServices map[schema.GroupVersion]apiService

type apiService struct {
	foreign     bool // whether an aggregated API server serves the group version
	automanaged string
}

func (c *Client) apiServices(ctx context.Context) (apiServices, error) {
	body, err := c.Get(ctx, Target{Path: apiServicesPath}, MediaJSON, apiServicesLimit)
	if HasCode(err, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the upstream's APIServices: %w", err)
	}
	var list struct {
		Kind  string
		Items []json.RawMessage
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the upstream's APIServices: %w", err)
	}
	if list.Kind != "APIServiceList" {
		return nil, fmt.Errorf("read the upstream's APIServices: the response has kind %q, want APIServiceList", list.Kind)
	}
	return readServices(list.Items)
}

func readServices(objects []json.RawMessage) (apiServices, error) {
	services := apiServices{}
	for _, object := range objects {
		gv, service, err := readService(object)
		if err != nil {
			return nil, err
		}
		services[gv] = service
	}
	return services, nil
}

func readService(object json.RawMessage) (gv schema.GroupVersion, service apiService, err error) {
	var item struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			Group, Version string
			Service        *struct{}
		}
	}
	if err := json.Unmarshal(object, &item); err != nil {
		return gv, service, fmt.Errorf("read an APIService: %w", err)
	}
	gv = schema.GroupVersion{Group: item.Spec.Group, Version: item.Spec.Version}
	return gv, apiService{foreign: item.Spec.Service != nil, automanaged: item.Metadata.Labels[automanaged]}, nil
}

// foreign reports whether an aggregated API server serves a group version, or may serve it. kube-apiserver has an
// APIService for each group version that it serves itself, so a group version without an APIService counts as foreign.
// If APIServices cannot be read, the name decides. Groups without a dot and groups that end in .k8s.io are then not
// foreign, because Kubernetes reserves these names.
func (a apiServices) foreign(gv schema.GroupVersion) bool {
	if a == nil {
		return strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, ".k8s.io")
	}
	service, there := a[gv]
	return gv.Group != aggregationGroup && (!there || service.foreign)
}

func (a apiServices) same(other apiServices, gv schema.GroupVersion) bool {
	is, there := a[gv]
	was, before := other[gv]
	return there == before && is == was
}

// custom reports whether a group version's resources are custom. known is false when APIServices do not show this.
func (a apiServices) custom(gv schema.GroupVersion) (custom, known bool) {
	switch {
	case a[gv].automanaged == "true":
		return true, true
	case a[gv].automanaged == "onstart", !strings.Contains(gv.Group, "."): // a CRD's group must contain a dot
		return false, true
	default:
		return false, false
	}
}
