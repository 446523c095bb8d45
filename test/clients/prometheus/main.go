// Command prometheus is the Kubernetes discovery of Prometheus. Its argument is a configuration file of Prometheus. It
// prints each group of targets in JSON, in one line, when the group changes. A group that has vanished has no targets.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	prometheus "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/kubernetes"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.yaml.in/yaml/v2"
)

// configuration is the part of the file that is about Kubernetes.
type configuration struct {
	ScrapeConfigs []struct {
		JobName    string                 `yaml:"job_name"`
		Kubernetes []*kubernetes.SDConfig `yaml:"kubernetes_sd_configs"`
	} `yaml:"scrape_configs"`
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config configuration
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	registry := prometheus.NewRegistry()
	refresh := discovery.NewRefreshMetrics(registry)
	groups := make(chan []*targetgroup.Group)
	for _, scrape := range config.ScrapeConfigs {
		for _, sd := range scrape.Kubernetes {
			metrics := sd.NewDiscovererMetrics(registry, refresh)
			discoverer, err := sd.NewDiscoverer(discovery.DiscovererOptions{
				Logger: promslog.New(&promslog.Config{}), Metrics: metrics, SetName: scrape.JobName,
			})
			if err != nil {
				return err
			}
			go discoverer.Run(ctx, groups)
		}
	}
	for updates := range groups {
		for _, group := range updates {
			if err := show(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// group is a group of targets, with the labels of each target.
type group struct {
	Source  string
	Labels  model.LabelSet
	Targets []model.LabelSet
}

// show prints a group. The discovery of endpoints returns targets in random order, so show sorts them.
func show(g *targetgroup.Group) error {
	targets := slices.SortedFunc(slices.Values(g.Targets), func(a, b model.LabelSet) int { return strings.Compare(a.String(), b.String()) })
	return json.NewEncoder(os.Stdout).Encode(group{g.Source, g.Labels, targets})
}
