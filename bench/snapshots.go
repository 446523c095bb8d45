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

// measureSnapshots adds what it costs the facade to leave all pods to the next process, and that to go on with them, in
// place of a list.
func measureSnapshots(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // which would be one more client
	for _, encoding := range []string{"json", "protobuf"} {
		if err := s.throughSnapshot(ctx, t, encoding); err != nil {
			return err
		}
	}
	return s.restartFacade(ctx)
}

// throughSnapshot starts a facade that finds nothing, ends it, and starts another.
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

// leave ends the facade, and tells what that took.
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

// restored fails unless the facade has its pods from a snapshot.
func (f *facade) restored(ctx context.Context) error {
	var metrics bytes.Buffer
	q := question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2}
	if _, err := f.server.get(ctx, q, &metrics); err != nil {
		return err
	}
	if !strings.Contains(metrics.String(), `listfacade_lane_fills_total{source="snapshot"} 1`) {
		return &answerError{server: facadeName, question: "metrics", what: "the pods are from no snapshot"}
	}
	return nil
}

// sizeOf is how many bytes the files of a directory have.
func sizeOf(dir string) (size int64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d files in %s, instead of a snapshot", len(files), dir)
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
