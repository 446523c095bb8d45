package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// measureSnapshots adds what it costs the facade to write a snapshot of all pods, and to start from it instead of from
// a list.
func measureSnapshots(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // it would be one more client
	for _, encoding := range []string{"json", "protobuf"} {
		if err := s.throughSnapshot(ctx, t, encoding); err != nil {
			return err
		}
	}
	return s.restartFacade(ctx)
}

// throughSnapshot starts a facade without a snapshot, stops it, and starts another one from its snapshot.
func (s *stage) throughSnapshot(ctx context.Context, t *table, encoding string) error {
	dir, err := os.MkdirTemp(s.dir, "snapshots-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags := append([]string{"--preload", "pods", "--preload-encodings", encoding, "--snapshot-dir", dir}, highLimits...)
	f, listed, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	if err != nil {
		return err
	}
	took, cpu, err := f.leave()
	if err != nil {
		return err
	}
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	f, restored, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	if err != nil {
		return err
	}
	defer f.stop()
	if err := f.restored(ctx); err != nil {
		return err
	}
	add := func(what, value string) { t.add(encoding+": "+what, "", value, "") }
	add("bytes on the disk", report.Size(size))
	add("the end of the process: time", report.Duration(took))
	add("the end of the process: CPU", report.Duration(cpu))
	for _, start := range []struct {
		from string
		cost startCost
	}{{"a list", listed}, {"the snapshot", restored}} {
		add("start to ready from "+start.from+": time", report.Duration(start.cost.took))
		add("start to ready from "+start.from+": CPU of the facade", report.Duration(start.cost.cpu))
		add("start to ready from "+start.from+": CPU of kube-apiserver", report.Duration(start.cost.behind))
	}
	return nil
}

// leave stops the facade, and returns the time and processor time of its shutdown.
func (f *facade) leave() (took, cpu time.Duration, err error) {
	before, err := f.server.process.CPU()
	began := time.Now()
	f.stop()
	took = time.Since(began)
	if state := f.process.ProcessState; err == nil && state != nil {
		cpu = state.UserTime() + state.SystemTime() - before
	}
	return took, cpu, err
}

// restored returns an error unless the facade has filled its pods from a snapshot.
func (f *facade) restored(ctx context.Context) error {
	var metrics bytes.Buffer
	q := question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2}
	if _, err := f.server.get(ctx, q, &metrics); err != nil {
		return err
	}
	if !strings.Contains(metrics.String(), `listfacade_lane_fills_total{source="snapshot"} 1`) {
		return &answerError{server: facadeName, question: "metrics", what: "the pods were not restored from a snapshot"}
	}
	return nil
}

// sizeOf returns the size of the snapshot, the only file of a directory, in bytes.
func sizeOf(dir string) (size int64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("got %d files in %s, want one snapshot", len(files), dir)
	}
	for _, file := range files {
		info, statErr := os.Stat(file)
		if statErr != nil {
			return 0, statErr
		}
		size += info.Size()
	}
	return size, err
}
