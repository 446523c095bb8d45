package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// alone compiles a facade into a new directory, measures it there without a cluster, and prints the rows. data
// describes the objects.
func alone(ctx context.Context, w io.Writer, title, data string,
	measure func(ctx context.Context, dir string, t *table) error) error {
	began := time.Now()
	dir, err := os.MkdirTemp("", "listfacade-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the directory is not needed afterwards
	if err := buildFacade(ctx, dir); err != nil {
		return err
	}
	t := new(table)
	err = measure(ctx, dir, t)
	results := report.Results{
		Machine: machine(ctx, ""), Command: command(os.Args[1:]), Took: time.Since(began), Data: data,
		Results: []report.Result{{Name: title, Title: title, Rows: t.rows}},
	}
	return errors.Join(err, results.Markdown(w)) // partial results are still useful
}
