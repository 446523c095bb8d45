package questions

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The facade parses kube-apiserver's discovery like client-go, in each representation.
func TestDiscoveryIsRead(t *testing.T) {
	config, err := suite.Furnished(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := clientgo.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, legacy := range map[string]bool{"aggregated": false, "each version": true} {
		t.Run(name, func(t *testing.T) {
			client.UseLegacyDiscovery = legacy
			_, lists, err := client.ServerGroupsAndResources()
			if err != nil {
				t.Fatal(err)
			}
			served, err := discovery.Read(t.Context(), asking(client.RESTClient(), legacy))
			if err == nil {
				err = served.Incomplete()
			}
			if err != nil {
				t.Fatal(err)
			}
			want, got := listed(lists), read(served)
			if len(want) < 100 {
				t.Fatalf("client-go reads %d resources", len(want))
			}
			if !slices.Equal(got, want) {
				t.Errorf("read:\n%q\nwant:\n%q", got, want)
			}
		})
	}
}

// asking returns a discovery.Ask that uses client-go. A server without aggregated discovery ignores the requested
// representation.
func asking(client rest.Interface, legacy bool) discovery.Ask {
	return func(ctx context.Context, path, accept string) ([]byte, error) {
		if legacy {
			accept = "application/json"
		}
		result := client.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx)
		var code int
		if result.StatusCode(&code); code == http.StatusNotFound {
			return nil, discovery.ErrNotFound
		}
		return result.Raw()
	}
}

func listed(lists []*metav1.APIResourceList) []string {
	var all []string
	for _, l := range lists {
		for _, r := range l.APIResources {
			all = append(all, fmt.Sprint(l.GroupVersion, " ", r.Name, " ", r.Kind, " ", r.Namespaced, " ", r.Verbs))
		}
	}
	slices.Sort(all)
	return all
}

func read(served *discovery.Served) []string {
	var all []string
	for _, g := range served.Groups {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				all = append(all, fmt.Sprint(v.GroupVersion, " ", r.Name, " ", r.Kind, " ", r.Namespaced, " ", r.Verbs))
			}
		}
	}
	slices.Sort(all)
	return all
}
