package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// automanaged is the label by which kube-apiserver tells who made a local APIService: "onstart" are its own built-in
// group versions, "true" those of CustomResourceDefinitions. What somebody else made has no such label.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// aggregationGroup is that of APIServices themselves. The aggregation layer answers for it before it looks at any, and
// has none of it.
const aggregationGroup = "apiregistration.k8s.io"

const apiServicesPath = "/apis/" + aggregationGroup + "/v1/apiservices"

// apiServicesLimit bounds the list of APIServices in bytes: each takes a few KB, and there is one for each group
// version.
const apiServicesLimit = 64 << 20

// apiServices is what the upstream's aggregation layer says of its group versions; nil when the facade may not know.
type apiServices map[schema.GroupVersion]apiService

type apiService struct {
	foreign     bool   // another server answers behind the aggregation layer
	automanaged string // the label
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
		return nil, fmt.Errorf("read the upstream's APIServices: got a %q", list.Kind)
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

// foreign tells whether another server answers for a group version, or may: kube-apiserver has an APIService for each
// that it answers for itself. Without the right to read APIServices only the names that Kubernetes keeps to itself are
// believed to be the upstream's own.
func (a apiServices) foreign(gv schema.GroupVersion) bool {
	if a == nil {
		return strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, ".k8s.io")
	}
	service, there := a[gv]
	return gv.Group != aggregationGroup && (!there || service.foreign)
}

// same reports whether both say the same of a group version.
func (a apiServices) same(other apiServices, gv schema.GroupVersion) bool {
	is, there := a[gv]
	was, before := other[gv]
	return there == before && is == was
}

// custom tells whether a group version's resources are custom; the second result is false when that is not said
// anywhere.
func (a apiServices) custom(gv schema.GroupVersion) (custom, known bool) {
	switch {
	case a[gv].automanaged == "true":
		return true, true
	case a[gv].automanaged == "onstart", !strings.Contains(gv.Group, "."): // the group of a CRD must have a dot
		return false, true
	default:
		return false, false
	}
}
