// Command bench asks kube-apiserver and listfacade the same questions, side by side in one run, and prints what each of
// them paid for the answers as a Markdown table. docs/benchmarks.md has the figures of one run and says what they do
// not show.
//
// It starts everything itself: a cluster of etcd and kube-apiserver with 20,000 generated pods (internal/dataset), and
// a facade in front of it as a process of its own. A server's price is processor time and memory as the kernel counts
// them (internal/proc), because the client works on the same processors and would spoil any clock. Before anything is
// timed, the answers of both are compared to the byte.
//
// It fails when an answer is wrong, never because one is slow. Goroutines: those of net/http, and those that watch or
// write for as long as one measurement lasts; each measurement waits for its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

// options are those of a run. The defaults are those of docs/benchmarks.md.
type options struct {
	pods       dataset.Spec
	rounds     int           // of each LIST measurement; a round has two blocks of either server
	eventsFor  time.Duration // how long pods are patched while two watches look on
	eventEvery time.Duration
	watches    int    // opened on each server at the same time
	only       string // the part that is measured: lists, company or freshness; empty: all
	profiles   string // where profiles of the facade go; empty: none are taken
}

func parse() options {
	o := options{pods: dataset.D1, eventEvery: 10 * time.Millisecond}
	flag.IntVar(&o.pods.Pods, "pods", o.pods.Pods, "how many pods there are")
	flag.IntVar(&o.rounds, "rounds", 3, "how often lists are measured; a round has the order kube-apiserver, facade, facade, kube-apiserver")
	flag.DurationVar(&o.eventsFor, "events-for", 30*time.Second, "how long 100 pods a second are patched to see how late a watch hears of it")
	flag.IntVar(&o.watches, "watches", 1000, "how many watches are opened on each server to see how much memory they take")
	flag.StringVar(&o.only, "only", o.only, "measure this part alone: lists, company or freshness")
	flag.StringVar(&o.profiles, "profiles", o.profiles, "at the end, write profiles of the facade's processor time into this `directory`")
	flag.Parse()
	return o
}

// validate refuses what leaves nothing to measure.
func (o options) validate() error {
	if o.pods.Pods < 1000 || o.rounds < 1 || o.eventsFor < time.Second || o.watches < 1 {
		return errors.New("at least 1000 pods (fewer do not compress like real ones), one round, one second and one watch are needed")
	}
	if o.only != "" && !slices.Contains([]string{partLists, partCompany, partFreshness}, o.only) {
		return fmt.Errorf("there is no part %q, only lists, company and freshness", o.only)
	}
	return nil
}

// measures tells whether a part is measured.
func (o options) measures(part string) bool { return o.only == "" || o.only == part }

// The parts of a run.
const (
	partLists     = "lists"
	partCompany   = "company"
	partFreshness = "freshness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := parse()
	err := o.validate()
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
