package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/bench/internal/simulated"
)

// recordEvery is the interval between two events for a journal.
const recordEvery = time.Millisecond

// recording describes a journal for "listfacade replay". The rate of the events does not affect a replay, so the
// benchmark records an hour of events in less time.
type recording struct {
	events int // 0: none
	pods   int
}

func (r *recording) addFlags() {
	flag.IntVar(&r.events, "replay-events", 0,
		"`number` of events in a journal; measure replays of it instead of scenarios; an hour of 100 events/s has 360000; 0: measure scenarios")
	flag.IntVar(&r.pods, "replay-pods", 20_000, "number of pods with -replay-events, at least 1000")
}

// run measures and prints the figures.
func (r recording) run(ctx context.Context, o options, w io.Writer) error {
	if r.pods < 1000 {
		return errors.New("at least 1000 pods are needed")
	}
	data := fmt.Sprintf("%d pods, a journal of %d events.", r.pods, r.events)
	return alone(ctx, w, "replay", data, func(ctx context.Context, dir string, t *table) error {
		return r.measure(ctx, dir, o, t)
	})
}

// measure records the events, and replays moments at the beginning, in the middle, and at the end of the journal.
func (r recording) measure(ctx context.Context, dir string, o options, t *table) error {
	journal := filepath.Join(dir, "journal")
	began, took, err := r.record(ctx, dir, journal, o, t)
	if err != nil {
		return err
	}
	for _, moment := range []struct {
		name string
		part float64 // of the time of recording
	}{{"a tenth", 0.1}, {"half", 0.5}, {"nine tenths", 0.9}} {
		at := began.Add(time.Duration(moment.part * float64(took)))
		name := "replay --at after " + moment.name + " of the time: "
		if err := r.replay(ctx, dir, journal, at, name, t); err != nil {
			return err
		}
	}
	return nil
}

// record runs a facade that writes the journal, in front of a simulated upstream. It adds the size of the journal, and
// returns when the events began and how long they took.
func (r recording) record(ctx context.Context, dir, journal string, o options, t *table) (began time.Time,
	took time.Duration, err error) {
	u, err := startUpstream(ctx, dir, r.pods, r.pods/100)
	if err != nil {
		return began, 0, err
	}
	defer u.stop()
	flags := append([]string{"--preload", "pods", "--self-audit-interval", "0", "--journal-dir", journal},
		strings.Fields(o.flags)...)
	f, _, err := startAlone(ctx, dir, u, r.pods, flags...)
	if err != nil {
		return began, 0, err
	}
	say("recording %d events", r.events)
	began = time.Now()
	err = u.update(ctx, simulated.Updates{Count: r.events, Every: recordEvery, Among: r.pods})
	took = time.Since(began)
	if err == nil {
		err = pause(ctx, journalSettled)
	}
	f.stop()
	t.add("the journal: bytes on the disk", "", report.Size(sizeOf(journal)), "")
	return began, took, err
}

// replay starts a replay of a moment. It adds the time until the replay is ready, and until a client has all pods.
func (r recording) replay(ctx context.Context, dir, journal string, at time.Time, name string, t *table) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + port
	replay := exec.CommandContext(ctx, filepath.Join(dir, facadeName), "replay", "--journal-dir", journal, "--frozen",
		"--at", at.UTC().Format(time.RFC3339Nano), "--listen", address)
	replay.Stderr = os.Stderr
	stdout, err := replay.StdoutPipe()
	if err != nil {
		return err
	}
	say("replaying %s", at.UTC().Format(time.RFC3339))
	began := time.Now()
	if err := replay.Start(); err != nil {
		return fmt.Errorf("start a replay: %w", err)
	}
	defer func() {
		_ = replay.Process.Signal(syscall.SIGTERM)
		_ = replay.Wait() // its exit status is not measured
	}()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // the replay prints a line when it is ready
		return fmt.Errorf("the replay did not start: %w", err)
	}
	ready := time.Since(began)
	server, err := newServer("replay", proc.Process(replay.Process.Pid), &rest.Config{Host: "http://" + address})
	if err != nil {
		return err
	}
	if err := r.complete(ctx, server); err != nil {
		return err
	}
	listed := time.Since(began)
	c, err := server.started(ready)
	if err != nil {
		return err
	}
	m, err := server.process.Memory()
	t.add(name+"ready / a client has all pods", "", report.Duration(ready)+" / "+report.Duration(listed), "")
	t.add(name+"CPU / memory, peak", "", report.Duration(c.cpu)+" / "+report.Size(m.Peak), "")
	return err
}

// complete returns an error unless a list has all pods.
func (r recording) complete(ctx context.Context, s *server) error {
	q := question{name: "LIST all", path: "/api/v1/pods", accept: metadataType, encoding: "gzip", protocol: http1}
	a, err := s.read(ctx, q)
	if err != nil {
		return err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(a.body, &list); err != nil {
		return fmt.Errorf("read the replayed pods: %w", err)
	}
	if len(list.Items) != r.pods {
		return &answerError{server: s.name, question: q.String(), what: fmt.Sprintf("%d of %d pods", len(list.Items), r.pods)}
	}
	return nil
}
