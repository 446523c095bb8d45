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
	body, err := c.Get(ctx, Target{Path: "/apis/apiregistration.k8s.io/v1/apiservices"}, MediaJSON, apiServicesLimit)
	if HasCode(err, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the upstream's APIServices: %w", err)
	}
	var list struct {
		Kind  string
		Items []struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Group, Version string
				Service        *struct{}
			}
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the upstream's APIServices: %w", err)
	}
	if list.Kind != "APIServiceList" {
		return nil, fmt.Errorf("read the upstream's APIServices: got a %q", list.Kind)
	}
	services := apiServices{}
	for _, item := range list.Items {
		services[schema.GroupVersion{Group: item.Spec.Group, Version: item.Spec.Version}] = apiService{
			foreign: item.Spec.Service != nil, automanaged: item.Metadata.Labels[automanaged],
		}
	}
	return services, nil
}

// foreign tells whether another server answers for a group version. Who may not read APIServices cannot tell, and
// believes only the names that Kubernetes keeps to itself to be the upstream's own.
func (a apiServices) foreign(gv schema.GroupVersion) bool {
	if a == nil {
		return strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, ".k8s.io")
	}
	return a[gv].foreign
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
