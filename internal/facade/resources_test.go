package facade

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Settings of single resources are added to those of flags.
func TestResourceSettingsAreAdded(t *testing.T) {
	c := Defaults()
	c.Preload = []string{"nodes"}
	c.Resources = map[schema.GroupResource]Resource{
		{Resource: "pods"}: {Preload: []string{"json", "protobuf"}}, {Group: "apps", Resource: "deployments"}: {Preload: []string{"protobuf"}},
		{Resource: "events"}: {Cached: new(bool)}, {Resource: "secrets"}: {Cached: ptr(true)}, {Resource: "services"}: {HistoryWindow: time.Hour},
	}
	var lines []string
	for _, w := range c.wanted() {
		line := w.name
		for _, encoding := range w.in {
			line += " " + encoding.Name()
		}
		lines = append(lines, line)
	}
	if got, want := strings.Join(lines, ", "), "nodes json, deployments.apps protobuf, pods json protobuf"; got != want {
		t.Errorf("got preloads %s, want %s", got, want)
	}
	uncached := c.uncached()
	for resource, want := range map[string]bool{"secrets": false, "configmaps": false, "events": true, "pods": false, "services": false} {
		if uncached[schema.GroupResource{Resource: resource}] != want {
			t.Errorf("%s: got uncached %t", resource, !want)
		}
	}
	if own := c.laneResources()[schema.GroupResource{Resource: "services"}]; own.Window != time.Hour {
		t.Errorf("services: %+v", own)
	}
}

func ptr[T any](v T) *T { return &v }

// Invalid settings of a resource are refused with its name.
func TestInvalidResourceSettingsAreRefused(t *testing.T) {
	for name, own := range map[string]Resource{
		"preload":              {Preload: []string{"yaml"}},
		"an uncached resource": {Cached: new(bool), MemoryBudget: 1 << 30},
		"at least":             {MemoryBudget: 5},
		"history window":       {HistoryWindow: -1},
		"window and bytes":     {HistoryBytes: -1},
		"no other settings":    {Cached: new(bool), HistoryWindow: 1},
	} {
		c := Defaults()
		c.Resources = map[schema.GroupResource]Resource{{Resource: "pods"}: own}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "resource pods: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", own, err)
		}
	}
}
