package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/bench/internal/simulated"
)

// sizes are numbers of pods, ascending. It implements flag.Value.
type sizes []int

// String implements flag.Value.
func (s *sizes) String() string {
	var words []string
	for _, n := range *s {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// Set implements flag.Value.
func (s *sizes) Set(text string) error {
	*s = nil
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < growthWatches {
			return fmt.Errorf("%q is not a number of at least %d", word, growthWatches)
		}
		*s = append(*s, n)
	}
	slices.Sort(*s)
	return nil
}

// grow measures a facade in front of simulated upstreams of several sizes, one after the other, and prints the results.
func grow(ctx context.Context, o options, w io.Writer) error {
	began := time.Now()
	dir, err := os.MkdirTemp("", "listfacade-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory is not needed afterwards
	if err := buildFacade(ctx, dir); err != nil {
		return err
	}
	results := report.Growth{Machine: hardware() + "; " + runtime.Version(), Command: command(os.Args[1:])}
	for _, n := range o.sizes {
		before := loadAverage()
		size, err := growTo(ctx, dir, o, n)
		size.Load, size.Facade = before+" / "+loadAverage(), commit(ctx)
		results.Took = time.Since(began)
		if err != nil {
			return errors.Join(fmt.Errorf("%d pods: %w", n, err), results.Markdown(w)) // partial results are still useful
		}
		results.Sizes = append(results.Sizes, size)
	}
	if o.out == "" {
		return results.Markdown(w)
	}
	earlier, err := report.ReadGrowth(o.out)
	if err != nil {
		return err
	}
	results = results.With(earlier)
	return errors.Join(results.Markdown(w), results.Publish(o.out))
}

// growing contains the servers and the measurements of one size.
type growing struct {
	pods     *simulated.Pods
	upstream *upstream
	facade   *server
	report.Grown
}

func growTo(ctx context.Context, dir string, o options, n int) (report.Grown, error) {
	g := &growing{Grown: report.Grown{Objects: n}}
	var err error
	if g.pods, err = simulated.NewPods(n, 0); err != nil {
		return g.Grown, err
	}
	u, err := startUpstream(ctx, dir, n, 0)
	if err != nil {
		return g.Grown, err
	}
	defer u.stop()
	g.upstream = u
	flags := slices.Concat(highLimits, []string{"--anonymous-acts-as-kubeconfig", "--preload", "pods"},
		strings.Fields(o.flags))
	f, cost, err := startAlone(ctx, dir, u, n, flags...)
	if err != nil {
		return g.Grown, err
	}
	defer f.stop()
	g.facade, g.Fill, g.FillCPU, g.UpstreamCPU = f.server, cost.took, cost.cpu, cost.behind
	steps := []func(context.Context) error{g.memory, g.questions, g.watches}
	if o.profiles != "" {
		steps = slices.Insert(steps, 1, func(ctx context.Context) error {
			return f.server.heapProfile(ctx, filepath.Join(o.profiles, fmt.Sprintf("heap-%d.pprof", n)))
		})
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return g.Grown, err
		}
	}
	return g.Grown, nil
}

// memory measures the facade's memory after the facade has read all pods, and after a garbage collection.
func (g *growing) memory(ctx context.Context) error {
	filled, err := g.facade.process.Memory()
	if err != nil {
		return err
	}
	g.Peak, g.Filled = filled.Peak, filled.Resident
	l, err := g.facade.collect(ctx)
	if err != nil {
		return err
	}
	settled, err := g.facade.settled(ctx)
	g.Live, g.Resident = l.heap, settled.Resident
	say("%d pods: filled in %s, CPU %s, peak %s, resident %s, live %s", g.Objects, report.Duration(g.Fill),
		report.Duration(g.FillCPU),
		report.Size(g.Peak), report.Size(g.Resident), report.Size(g.Live))
	return err
}

// heapProfile writes a server's heap profile, after a garbage collection, into a file.
func (s *server) heapProfile(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the directory of profiles: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create a profile: %w", err)
	}
	defer file.Close()
	_, err = s.get(ctx, question{name: "heap", path: "/debug/pprof/heap?gc=1", accept: "*/*", encoding: "identity",
		protocol: http1}, file)
	return err
}
