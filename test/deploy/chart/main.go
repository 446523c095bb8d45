// Command chart renders a chart as helm does, with helm's own packages, and prints its objects as YAML. It checks the
// values by the chart's schema. Unlike helm, it compiles in seconds, because the build of the devcluster has already
// compiled most of its packages.
//
//	chart CHART [VALUES]
//
// VALUES is a file with values. The release has the name listfacade and the namespace listfacade-system.
package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: chart CHART [VALUES]")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // helm reports each symbolic link
	chart, err := loader.Load(args[0])
	if err != nil {
		return fmt.Errorf("load chart: %w", err)
	}
	own := map[string]any{}
	if len(args) > 1 {
		text, err := os.ReadFile(args[1])
		if err == nil {
			err = yaml.UnmarshalStrict(text, &own)
		}
		if err != nil {
			return fmt.Errorf("read values: %w", err)
		}
	}
	values, err := util.ToRenderValues(chart, own, common.ReleaseOptions{
		Name: "listfacade", Namespace: "listfacade-system", Revision: 1, IsInstall: true,
	}, common.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, values)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) == ".yaml" && strings.TrimSpace(files[name]) != "" {
			fmt.Printf("---\n%s\n", strings.TrimPrefix(strings.TrimSpace(files[name]), "---\n"))
		}
	}
	return nil
}
