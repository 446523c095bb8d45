package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/report"
)

// run measures scenarios in order, and publishes the results.
func run(ctx context.Context, o options, chosen []scenario, w io.Writer) error {
	began := time.Now()
	dir, err := os.MkdirTemp("", "listfacade-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory is not needed afterwards
	say("generating %d pods", o.pods.Pods)
	sample := o.pods // the first pods are representative
	sample.Pods = min(sample.Pods, dataset.D1.Pods)
	ratio, err := sample.CheckRatio()
	if err != nil {
		return err
	}
	s, err := setUp(ctx, dir, o)
	if err != nil {
		return err
	}
	defer s.close()
	say("servers are running after %.0f s", time.Since(began).Seconds())
	results := report.Results{Command: command(os.Args[1:])}
	results.Data = fmt.Sprintf("%d pods, %s of JSON, %.2f times smaller under gzip level 1.", o.pods.Pods,
		report.Size(ratio.Bytes*int64(o.pods.Pods)/int64(sample.Pods)), ratio.Value())
	if results.Machine, err = describe(ctx, s.direct); err != nil {
		return err
	}
	for _, c := range chosen {
		r, err := c.run(ctx, s)
		results.Took = time.Since(began)
		if err != nil {
			return errors.Join(err, results.Markdown(w)) // partial results are still useful
		}
		say("%s took %.0f s", c.name, r.Took.Seconds())
		results.Results = append(results.Results, r)
	}
	if err := publish(o, results, w); err != nil || o.profiles == "" {
		return err
	}
	return profile(ctx, s.facade, chosen, o.profiles)
}

// publish prints the results and writes them into the documents.
func publish(o options, results report.Results, w io.Writer) error {
	if err := results.Markdown(w); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	return results.Publish(o.out)
}

// command returns the command that repeats the run.
func command(args []string) string {
	if len(args) == 0 {
		return "make bench"
	}
	return "go run ./bench " + strings.Join(args, " ")
}

// say prints the progress to standard error.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
