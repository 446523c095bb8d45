// Command bench asks kube-apiserver and listfacade the same questions, side by side in one run, and writes down what
// each of them paid for the answers, beside what the same bytes cost a bare file server. docs/benchmarks.md has the
// figures of one run and says what they do not show.
//
// It starts everything itself: a cluster of etcd and kube-apiserver with 20,000 generated pods (internal/dataset), a
// facade in front of it and a file server (internal/files), each a process of its own. A server's price is processor
// time and memory as the kernel counts them (internal/proc), because the client works on the same processors and would
// spoil any clock. Before anything is timed, the answers of both are compared to the byte.
//
// With -sizes it measures instead how a facade grows (growth.go): alone, in front of a simulated kube-apiserver
// (internal/simulated) that has as many pods as no real one would hold on this machine.
//
// What is measured is data, in scenarios.go; where results go is internal/report. It fails when an answer is wrong,
// never because one is slow. Goroutines: those of net/http, and those that ask, watch or write for as long as one
// measurement lasts; each measurement waits for its own.
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

// options are those of a run. The defaults are those of docs/benchmarks.md.
type options struct {
	pods      dataset.Spec
	rounds    int           // of each load, at most; a round has two blocks of every server
	eventRate               // of the pods whose changes two watches look at
	soak      time.Duration // for which the scenario of that name goes on
	watches   int           // opened on each server at the same time
	only      string        // names or parts of names of scenarios; empty: all
	list      bool          // print the scenarios, and measure nothing
	from      string        // a file of results to write down again, instead of measuring
	out       string        // the directory of documents that results are written into; empty: none
	flags     string        // of the facade besides the usual ones, with spaces between
	profiles  string        // where profiles of the facade go; empty: none are taken
	sizes     sizes         // of simulated upstreams to measure growth over; empty: scenarios are measured
}

func parse() options {
	o := options{pods: dataset.D1, eventRate: eventRate{eventEvery: 10 * time.Millisecond}}
	flag.IntVar(&o.pods.Pods, "pods", o.pods.Pods, "how many pods there are; of more than usual, in as many more namespaces and applications, on as many more nodes")
	flag.IntVar(&o.rounds, "rounds", 3, "how often loads are measured, at most; a round has the order kube-apiserver, facade, file server, and back")
	flag.DurationVar(&o.eventsFor, "events-for", 30*time.Second, "how long 100 pods a second are patched to see how late a watch hears of it")
	flag.DurationVar(&o.soak, "for", 15*time.Minute, "how long the scenario soak goes on")
	flag.IntVar(&o.watches, "watches", 1000, "how many watches are opened on each server to see how much memory they take")
	flag.StringVar(&o.only, "only", o.only, "measure scenarios with these `words` in their names, separated by commas; not written into documents unless -out is there")
	flag.BoolVar(&o.list, "list", false, "print the scenarios and how long each takes, and measure nothing")
	flag.StringVar(&o.from, "from", "", "measure nothing, but write down the results in this `file` again")
	flag.StringVar(&o.out, "out", "docs", "write results into benchmarks.md of this `directory`, as JSON and as plots; empty: only print them")
	flag.StringVar(&o.flags, "flags", "", "`flags` of the facade besides the usual ones, with spaces between, as \"--pack=off\"")
	flag.StringVar(&o.profiles, "profiles", o.profiles, "at the end, write profiles of the facade's processor time and allocations into this `directory`")
	flag.Var(&o.sizes, "sizes", "measure no scenario, but how a facade grows in front of simulated upstreams with these `numbers` of pods, separated by commas; others that were measured before stay in the documents")
	flag.Parse()
	o.pods = o.pods.Like(dataset.D1)
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.only != "" && !given["out"] {
		o.out = "" // some scenarios are no run to write down
	}
	return o
}

// validate refuses what leaves nothing to measure.
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

// dispatch does what was asked for.
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
	chosen, err := choose(scenarios(o.pods), o.only)
	if err != nil {
		return err
	}
	if o.list {
		return catalogue(os.Stdout, chosen)
	}
	return run(ctx, o, chosen, os.Stdout)
}
