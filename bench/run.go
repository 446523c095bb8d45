package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/listfacade/listfacade/internal/testkit"
)

// pair is the two servers that are compared, with the same data.
type pair struct {
	direct *server // kube-apiserver
	facade *server
}

// run makes every measurement in order and writes the report.
func run(ctx context.Context, o options, w io.Writer) error {
	dir, err := os.MkdirTemp("", "listfacade-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is of use afterwards
	say("generating %d pods", o.pods.Pods)
	ratio, err := o.pods.CheckRatio()
	if err != nil {
		return err
	}
	cluster, err := testkit.StartCluster(ctx, "--components=none")
	if err != nil {
		return err
	}
	defer cluster.Close()
	direct, directStart, err := startWithPods(ctx, cluster, o.pods)
	if err != nil {
		return err
	}
	f, facadeStart, err := startFacade(ctx, dir, cluster.Kubeconfigs["admin"], direct)
	if err != nil {
		return err
	}
	defer f.stop()
	t := new(table)
	t.addStarts(directStart, facadeStart)
	servers := pair{direct: direct, facade: f.server}
	if o.measures(partLists) {
		if err := measure(ctx, servers, o, t); err != nil {
			return err
		}
	}
	if o.measures(partCompany) {
		if err := measureCompanies(ctx, cluster, servers, t); err != nil {
			return err
		}
	}
	if o.measures(partFreshness) {
		if err := measureFreshness(ctx, cluster, servers, t); err != nil {
			return err
		}
	}
	m, err := describe(ctx, direct)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n\n%d pods, %s of JSON, %.2f times smaller under gzip level 1.\n\n%s",
		m, o.pods.Pods, megabytes(ratio.Bytes), ratio.Value(), t)
	return err
}

// measure does what needs both servers up. Memory comes first, before any list has left garbage behind.
func measure(ctx context.Context, servers pair, o options, t *table) error {
	if err := memoryAfterCollection(ctx, servers, t); err != nil {
		return err
	}
	say("opening %d watches on each", o.watches)
	if err := measureWatches(ctx, servers, o, t); err != nil {
		return err
	}
	for _, q := range questions(o.pods) {
		say("comparing: %s", q)
		if err := sameAnswer(ctx, servers, q); err != nil {
			return err
		}
	}
	for _, q := range questions(o.pods) {
		say("measuring: %s", q)
		c, err := compare(ctx, servers, q, o.rounds)
		if err != nil {
			return err
		}
		t.addCosts(q, c)
	}
	if err := memoryPeak(servers, t); err != nil {
		return err
	}
	say("patching pods for %s", o.eventsFor)
	d, err := measureDelays(ctx, servers, o)
	if err != nil {
		return err
	}
	t.addDelays(d)
	if o.profiles == "" {
		return nil
	}
	return profile(ctx, servers.facade, questions(o.pods), o.profiles)
}

// say tells whoever waits what is going on.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
