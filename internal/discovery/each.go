package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// atOnce is the maximum number of concurrent requests for versions.
	atOnce = 8
	// versionWait is the timeout of the request for a version. An aggregated API server may hang.
	versionWait = 10 * time.Second
)

// addEach adds the groups of an APIVersions (/api) or an APIGroupList (/apis), and requests the resources of each
// version.
func (s *Served) addEach(ctx context.Context, ask Ask, root string, body []byte) error {
	groups, err := named(body)
	if err != nil {
		return err
	}
	lists, errs := make([][][]Resource, len(groups)), make([][]error, len(groups))
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	for i, g := range groups {
		lists[i], errs[i] = make([][]Resource, len(g.Versions)), make([]error, len(g.Versions))
		for j, v := range g.Versions {
			asking.Go(func() error {
				lists[i][j], errs[i][j] = readVersion(ctx, ask, root+"/"+v.String())
				return nil
			})
		}
	}
	_ = asking.Wait() // errors are in errs
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, g := range groups {
		group := Group{Name: g.Name}
		for j, v := range g.Versions {
			if errs[i][j] != nil {
				s.Failed = append(s.Failed, fmt.Errorf("%s: %w", v.GroupVersion, errs[i][j]))
				continue
			}
			group.Versions = append(group.Versions, Version{GroupVersion: v.GroupVersion, Resources: lists[i][j]})
		}
		s.Groups = append(s.Groups, group)
	}
	return nil
}

// named returns the groups of a document, without resources. In each group, the preferred version is first.
func named(body []byte) ([]Group, error) {
	var document struct {
		Versions []string          `json:"versions"` // of the core group
		Groups   []metav1.APIGroup `json:"groups"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, err
	}
	var groups []Group
	if len(document.Versions) > 0 {
		var core Group
		for _, v := range document.Versions {
			core.Versions = append(core.Versions, Version{GroupVersion: schema.GroupVersion{Version: v}})
		}
		groups = append(groups, core)
	}
	for _, g := range document.Groups {
		group := Group{Name: g.Name}
		for _, v := range g.Versions {
			version := Version{GroupVersion: schema.GroupVersion{Group: g.Name, Version: v.Version}}
			if v.Version == g.PreferredVersion.Version {
				group.Versions = append([]Version{version}, group.Versions...)
			} else {
				group.Versions = append(group.Versions, version)
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

func readVersion(ctx context.Context, ask Ask, path string) ([]Resource, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	body, err := ask(ctx, path, plain)
	if err != nil {
		return nil, err
	}
	var list struct {
		Kind      string     `json:"kind"`
		Resources []Resource `json:"resources"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list.Kind != "APIResourceList" {
		return nil, fmt.Errorf("got kind %q, want APIResourceList", list.Kind)
	}
	return list.Resources, nil
}
