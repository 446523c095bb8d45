package facade

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestResourcesSay: what is said of single resources comes on top of what flags say of some.
func TestResourcesSay(t *testing.T) {
	c := Defaults()
	c.Preload = []string{"nodes"}
	c.Resources = map[schema.GroupResource]Resource{
		{Resource: "pods"}: {Preload: []string{"json", "protobuf"}}, {Group: "apps", Resource: "deployments"}: {Preload: []string{"protobuf"}},
		{Resource: "events"}: {Cached: new(bool)}, {Resource: "secrets"}: {Cached: ptr(true)}, {Resource: "services"}: {HistoryWindow: time.Hour},
	}
	var said []string
	for _, w := range c.wanted() {
		line := w.name
		for _, encoding := range w.in {
			line += " " + encoding.Name()
		}
		said = append(said, line)
	}
	if got, want := strings.Join(said, ", "), "nodes json, deployments.apps protobuf, pods json protobuf"; got != want {
		t.Errorf("from the start: %s, want %s", got, want)
	}
	uncached := c.uncached()
	for resource, want := range map[string]bool{"secrets": false, "configmaps": false, "events": true, "pods": false, "services": false} {
		if uncached[schema.GroupResource{Resource: resource}] != want {
			t.Errorf("%s is never cached: %t", resource, !want)
		}
	}
	if own := c.laneResources()[schema.GroupResource{Resource: "services"}]; own.Window != time.Hour {
		t.Errorf("services: %+v", own)
	}
}

func ptr[T any](v T) *T { return &v }

// TestResourcesRefused: settings of a resource that cannot be meant are refused by its name.
func TestResourcesRefused(t *testing.T) {
	for name, own := range map[string]Resource{
		"preload":               {Preload: []string{"yaml"}},
		"not cached":            {Cached: new(bool), MemoryBudget: 1 << 30},
		"at least":              {MemoryBudget: 5},
		"a history":             {HistoryWindow: -1},
		"a history must be abo": {HistoryBytes: -1},
		"no other settings":     {Cached: new(bool), HistoryWindow: 1},
	} {
		c := Defaults()
		c.Resources = map[schema.GroupResource]Resource{{Resource: "pods"}: own}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "resource pods: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", own, err)
		}
	}
}
