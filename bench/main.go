// Command bench sends the same requests to kube-apiserver and to listfacade in one run, and records the cost of the
// responses on each server. A bare file server that sends the same bytes is the lower bound. docs/benchmarks.md has the
// figures of one run and their limits.
//
// It starts everything itself: a cluster of etcd and kube-apiserver with 20,000 generated pods (internal/dataset), a
// facade in front of it, and a file server (internal/files). Each is a separate process. The cost of a server is
// processor time and memory as the kernel accounts them (internal/proc). Wall-clock time would be distorted, because
// the client runs on the same processors. Before it times anything, bench compares the responses of both servers byte
// by byte.
//
// With -sizes it measures instead how the cost of a facade grows with the number of pods (growth.go). The facade then
// runs in front of a simulated kube-apiserver (internal/simulated), because a real server with so many pods would not
// fit on this machine.
//
// With -node-watches it measures the watches of this number of nodes (nodescale.go), also in front of a simulated
// kube-apiserver. internal/agents simulates the clients. With -replay-events it measures replays of a journal
// (replay.go).
//
// The scenarios are data in scenarios.go; internal/report writes the results. The command fails when a response is
// wrong, never because it is slow. Goroutines: those of net/http, and those that send requests, watch or write during
// one measurement. Each measurement waits for its own goroutines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/report"
)

// options are the options of a run. The defaults are those of docs/benchmarks.md.
type options struct {
	pods      dataset.Spec
	rounds    int           // of each load, maximum; a round has two blocks of every server
	eventRate               // of the pods in the scenario delays
	soak      time.Duration // duration of the scenario soak
	watches   int           // number of idle watches on each server
	only      string        // names or parts of names of scenarios, comma-separated; empty: all
	list      bool          // print the scenarios, and measure nothing
	from      string        // file of earlier results to publish again, instead of measuring
	out       string        // directory of documents to write the results into; empty: none
	flags     string        // additional flags of the facade, separated by spaces
	optimized bool          // whether the cluster's programs are compiled as for releases
	profiles  string        // directory for profiles of the facade; empty: no profiles
	sizes     sizes         // numbers of pods of simulated upstreams; empty: measure scenarios
	nodes     nodeScale     // watches of nodes; none: measure scenarios
	recording recording     // journal for replays; no events: measure scenarios
}

func parse() options {
	o := options{pods: dataset.D1, eventRate: eventRate{eventEvery: 10 * time.Millisecond}}
	flag.IntVar(&o.pods.Pods, "pods", o.pods.Pods,
		"number of pods; from twice the default upwards, the numbers of namespaces, applications and nodes grow in proportion")
	flag.IntVar(&o.rounds, "rounds", 3,
		"maximum number of rounds for each load; a round measures kube-apiserver, facade and file server, then the same in reverse order")
	flag.DurationVar(&o.eventsFor, "events-for", 30*time.Second,
		"time for which the scenario \"delays\" patches 100 pods a second to measure the delay of watch events")
	flag.DurationVar(&o.soak, "for", 15*time.Minute, "duration of the scenario soak")
	flag.IntVar(&o.watches, "watches", 1000, "number of idle watches to open on each server to measure their memory")
	flag.StringVar(&o.only, "only", o.only,
		"comma-separated `words`; measure only scenarios with one of them in their names, and do not write results unless -out is set")
	flag.BoolVar(&o.list, "list", false, "print the scenarios and their durations, and measure nothing")
	flag.StringVar(&o.from, "from", "", "`file` of earlier results to publish again, without measuring")
	flag.StringVar(&o.out, "out", "docs",
		"`directory` of documents; results are written into its benchmarks.md, as JSON and as plots; empty: only print them")
	flag.StringVar(&o.flags, "flags", "", "additional `flags` of the facade, separated by spaces, such as \"--pack=off\"")
	flag.StringVar(&o.profiles, "profiles", o.profiles,
		"`directory` for profiles of the facade's processor time and allocations, taken at the end; empty: no profiles")
	flag.BoolVar(&o.optimized, "optimized", true,
		"compile the cluster's programs as for releases; false: as for tests, which makes kube-apiserver slower")
	flag.Var(&o.sizes, "sizes", "comma-separated `numbers` of pods; measure the facade in front of simulated upstreams of these sizes instead of scenarios; results of other sizes stay in the documents")
	o.nodes.addFlags()
	o.recording.addFlags()
	flag.Parse()
	o.pods = o.pods.Like(dataset.D1)
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.only != "" && !given["out"] {
		o.out = "" // a selection of scenarios is not a complete run
	}
	return o
}

// validate rejects options with which there is nothing to measure.
func (o options) validate() error {
	if o.pods.Pods < 1000 || o.rounds < 1 || o.eventsFor < time.Second || o.watches < 1 {
		return errors.New("at least 1000 pods (fewer do not compress like real ones), one round, one second and one watch are needed")
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// dispatch runs the mode that the arguments select.
func dispatch(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == serveFiles {
		return beFileServer(os.Args[2:])
	}
	if len(os.Args) > 1 && os.Args[1] == floodFrom {
		return beFlood(os.Stdin, os.Stdout)
	}
	if len(os.Args) > 1 && os.Args[1] == simulateUpstream {
		return beUpstream(os.Args[2:])
	}
	o := parse()
	if o.from != "" {
		results, err := report.Read(o.from)
		if err != nil {
			return err
		}
		return publish(o, results, os.Stdout)
	}
	if err := o.validate(); err != nil {
		return err
	}
	if len(o.sizes) > 0 {
		return grow(ctx, o, os.Stdout)
	}
	if o.nodes.watches > 0 {
		return o.nodes.run(ctx, o, os.Stdout)
	}
	if o.recording.events > 0 {
		return o.recording.run(ctx, o, os.Stdout)
	}
	chosen, err := choose(scenarios(o.pods), o.only)
	if err != nil {
		return err
	}
	if o.list {
		return catalogue(os.Stdout, chosen)
	}
	return run(ctx, o, chosen, os.Stdout)
}
