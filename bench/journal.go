package main

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	// journalSettled is the time in which a facade packs the objects that it has read, and writes them to the journal.
	journalSettled = 15 * time.Second
	// journalEvery is the interval between two events.
	journalEvery = 10 * time.Millisecond
	secondsADay  = 24 * 60 * 60
	// eventsPerCheckpoint is the size of the events between two checkpoints of the journal (internal/journal), as a
	// multiple of a checkpoint's size.
	eventsPerCheckpoint = 8
)

// measureJournal adds the cost of a journal for each event, its size on the disk, and the cost of a restart from it
// after a crash. -events-for is the duration of the changes.
func measureJournal(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // the facade of the other scenarios would be one more client
	for _, encoding := range []string{"json", "protobuf"} {
		if err := s.throughJournal(ctx, t, encoding); err != nil {
			return err
		}
	}
	return s.restartFacade(ctx)
}

// throughJournal changes pods without and with a journal, kills the facade, and starts another one from its journal.
func (s *stage) throughJournal(ctx context.Context, t *table, encoding string) error {
	dir, err := os.MkdirTemp(s.dir, "journal-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags := append([]string{"--preload", "pods", "--preload-encodings", encoding}, highLimits...)
	add := func(what, value string) { t.add(encoding+": "+what, "", value, "") }
	f, listed, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	if err != nil {
		return err
	}
	without, _, err := s.changePods(ctx, f, "")
	f.stop()
	if err != nil {
		return err
	}
	flags = append(flags, "--journal-dir", dir)
	if f, _, err = startFacade(ctx, s.dir, s.cluster, s.direct, flags...); err != nil {
		return err
	}
	with, grown, err := s.changePods(ctx, f, dir)
	_ = f.process.Process.Kill()
	_ = f.process.Wait() // the process was killed
	if err != nil {
		return err
	}
	add("an event without a journal: CPU", report.Duration(without))
	add("an event with a journal: CPU", report.Duration(with))
	add("an event: bytes on the disk", report.Size(grown))
	day := grown * secondsADay * int64(time.Second/journalEvery)
	add("24 h of 100 events a second, with checkpoints: bytes on the disk", report.Size(day+day/eventsPerCheckpoint))
	f, restored, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	if err != nil {
		return err
	}
	defer f.stop()
	if err := f.restored(ctx); err != nil {
		return err
	}
	for _, start := range []struct {
		from string
		cost startCost
	}{{"a list", listed}, {"the journal, after kill -9", restored}} {
		add("start to ready from "+start.from+": time", report.Duration(start.cost.took))
		add("start to ready from "+start.from+": CPU of the facade", report.Duration(start.cost.cpu))
		add("start to ready from "+start.from+": CPU of kube-apiserver", report.Duration(start.cost.behind))
	}
	return nil
}

// changePods changes all pods in a random order, so that no pod changes twice within minutes. It returns the facade's
// processor time and the growth of a directory, both for each event. Later work, such as packing, is included.
func (s *stage) changePods(ctx context.Context, f *facade, dir string) (cpu time.Duration, bytes int64, err error) {
	pods, err := names(ctx, s.direct, "/api/v1/pods")
	if err != nil {
		return 0, 0, err
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	if err := pause(ctx, journalSettled); err != nil {
		return 0, 0, err
	}
	before, err := f.server.process.CPU()
	if err != nil {
		return 0, 0, err
	}
	had := sizeOf(dir)
	sent, err := patch(ctx, s.direct, pods, eventRate{s.options.eventsFor, journalEvery})
	if err == nil {
		err = pause(ctx, journalSettled)
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := f.server.process.CPU()
	return (after - before) / time.Duration(sent), (sizeOf(dir) - had) / int64(sent), err
}

// restored returns an error unless the facade has filled its lane of pods from the journal.
func (f *facade) restored(ctx context.Context) error {
	var metrics bytes.Buffer
	q := question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2}
	if _, err := f.server.get(ctx, q, &metrics); err != nil {
		return err
	}
	if !strings.Contains(metrics.String(), `listfacade_lane_fills_total{source="journal"} 1`) {
		return &answerError{server: facadeName, question: "metrics", what: "the pods were not restored from the journal"}
	}
	return nil
}

// sizeOf returns the size of all files below a directory, in bytes; 0 if dir is empty.
func sizeOf(dir string) (size int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the journal removes files meanwhile
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
