package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/price"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	assessName = "assess"
	// assessRounds is the number of rounds of the twelve clients in each phase, and assessIdle the time for which idle
	// CPU is measured.
	assessRounds = 12
	assessIdle   = 10 * time.Second
)

// auditPolicy logs the requests of all clients, except those of kube-apiserver itself.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver"]}
- {level: Metadata}
`

// auditFlags returns the flags of a cluster whose kube-apiserver writes an audit log. There are no flags unless the
// scenario assess is chosen, because the audit log has a cost.
func auditFlags(dir, only string) ([]string, error) {
	for word := range strings.SplitSeq(only, ",") {
		if word == "" || !strings.Contains(assessName, word) {
			continue
		}
		policy := filepath.Join(dir, "audit-policy.yaml")
		return []string{
			"--apiserver-arg=--audit-policy-file=" + policy, "--apiserver-arg=--audit-log-path=" + auditLog(dir),
			"--apiserver-arg=--audit-log-mode=blocking", "--apiserver-arg=--etcd-count-metric-poll-period=5s",
		}, os.WriteFile(policy, []byte(auditPolicy), 0o600)
	}
	return nil, nil
}

func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// bounds and assessment contain the fields of the report of "listfacade assess" that the benchmark compares with its
// measurements.
type bounds struct{ Low, Estimate, High float64 }

type assessment struct {
	Requests, Served int
	CPU              bounds `json:"cpuSeconds"`
	Saved            bounds `json:"savedCPUSeconds"`
	Facade           bounds `json:"facadeCPUSeconds"`
}

// dozenCost is the processor time of one run of the twelve clients, without idle CPU.
type dozenCost struct {
	direct, facade time.Duration
	doing          *testkit.Doing
}

// measureAssess adds the predictions of "listfacade assess" from the audit log of twelve clients. It adds the measured
// costs of these clients with and without a facade next to the predictions.
func measureAssess(ctx context.Context, s *stage, t *table) error {
	d := testkit.Dozen{
		Namespace: "bench-dozen", Resource: "pods", Label: dataset.RareLabel + "%3D" + dataset.RareValue,
		Field: "spec.nodeName%3D" + s.options.pods.Node(42),
	}
	server, err := d.Prepare(ctx, s.cluster)
	if err != nil {
		return err
	}
	f, err := s.withoutWatchLimits(ctx, "--preload", "pods,configmaps")
	if err != nil {
		return err
	}
	defer f.stop()
	behind := server.At(f.server.base, f.server.config.CAFile)
	for _, reads := range []*testkit.DozenServer{server, behind} { // warm-up
		if _, err := d.Do(ctx, 1, reads, server); err != nil {
			return err
		}
	}
	speed, err := s.speed(ctx, f.server)
	if err != nil {
		return err
	}
	from, err := os.Stat(auditLog(s.dir))
	if err != nil {
		return err
	}
	without, err := s.costOf(ctx, f.server, func() (*testkit.Doing, error) {
		return d.Do(ctx, assessRounds, server, server)
	})
	if err != nil {
		return err
	}
	predicted, err := s.assess(ctx, from.Size())
	if err != nil {
		return err
	}
	savedBefore, err := savedCPU(ctx, f.server)
	if err != nil {
		return err
	}
	with, err := s.costOf(ctx, f.server, func() (*testkit.Doing, error) {
		return d.Do(ctx, assessRounds, behind, server)
	})
	if err != nil {
		return err
	}
	addAssessment(t, predicted, without, with, speed)
	saved, err := savedCPU(ctx, f.server)
	t.add("CPU that the facade saves: measured, counted by the facade's metrics",
		fmt.Sprintf("%.2f s", (without.direct-with.direct).Seconds()), fmt.Sprintf("%.2f s", speed*(saved-savedBefore)), "")
	return err
}

// savedCPU returns the CPU that a facade saved kube-apiserver, minus the CPU that the facade caused there, according to
// the facade's metrics.
func savedCPU(ctx context.Context, facade *server) (seconds float64, err error) {
	var text strings.Builder
	_, err = facade.get(ctx, question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity",
		protocol: http2}, &text)
	for line := range strings.Lines(text.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, parseErr := strconv.ParseFloat(value, 64)
		switch {
		case parseErr != nil:
		case name == "listfacade_saved_cpu_seconds_total":
			seconds += number
		case strings.HasPrefix(name, "listfacade_caused_cpu_seconds_total{"):
			seconds -= number
		}
	}
	return seconds, err
}

// speed returns kube-apiserver's CPU for a list of all pods on this machine, as a multiple of the estimate of
// internal/price. The predictions are for machines on which this multiple is 1.
func (s *stage) speed(ctx context.Context, facade *server) (float64, error) {
	const lists = 8
	q := question{name: "LIST all", path: "/api/v1/pods?resourceVersion=0", accept: jsonType, encoding: "gzip",
		protocol: http2}
	c, err := s.costOf(ctx, facade, func() (*testkit.Doing, error) {
		for range lists {
			if _, err := s.direct.get(ctx, q, io.Discard); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	pods := float64(s.options.pods.Pods)
	list := price.List{Objects: pods, Bytes: pods * storedPod, Encoding: price.JSON, Compressed: true}
	return c.direct.Seconds() / lists / list.CPU(), err
}

// storedPod is the average size of a pod in etcd, in bytes.
const storedPod = 11_270

// costOf measures the processor time of a run, without the idle CPU of both servers in the same time.
func (s *stage) costOf(ctx context.Context, facade *server,
	run func() (*testkit.Doing, error)) (c dozenCost, err error) {
	idleFacade, idleDirect, err := s.spending(facade, func() error { return pause(ctx, assessIdle) })
	if err != nil {
		return c, err
	}
	began := time.Now()
	c.facade, c.direct, err = s.spending(facade, func() (err error) { c.doing, err = run(); return err })
	idle := float64(time.Since(began)) / float64(assessIdle)
	c.facade -= time.Duration(idle * float64(idleFacade))
	c.direct -= time.Duration(idle * float64(idleDirect))
	return c, err
}

// spending returns the processor time of both servers while a function runs.
func (s *stage) spending(facade *server, run func() error) (ofFacade, ofDirect time.Duration, err error) {
	beforeFacade, beforeDirect, err := s.cpu(facade)
	if err != nil {
		return 0, 0, err
	}
	if err := run(); err != nil {
		return 0, 0, err
	}
	afterFacade, afterDirect, err := s.cpu(facade)
	return afterFacade - beforeFacade, afterDirect - beforeDirect, err
}

func pause(ctx context.Context, lasts time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lasts):
		return nil
	}
}

// assess runs "listfacade assess" with the part of the audit log after an offset, in bytes. It prints the table and
// returns the report.
func (s *stage) assess(ctx context.Context, from int64) (*assessment, error) {
	log, metrics := filepath.Join(s.dir, "assessed.log"), filepath.Join(s.dir, "metrics.txt")
	if err := copyFrom(log, auditLog(s.dir), from); err != nil {
		return nil, err
	}
	scraped, err := os.Create(metrics)
	if err != nil {
		return nil, err
	}
	_, err = s.direct.get(ctx, question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity",
		protocol: http2}, scraped)
	if err := errors.Join(err, scraped.Close()); err != nil {
		return nil, err
	}
	run := exec.CommandContext(ctx, filepath.Join(s.dir, facadeName), "assess", "--metrics", metrics, "-o", "json", log)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("assess the audit log: %w", err)
	}
	table := exec.CommandContext(ctx, filepath.Join(s.dir, facadeName), "assess", "--metrics", metrics, log)
	if text, err := table.Output(); err == nil {
		say("%s", text)
	}
	a := new(assessment)
	return a, json.Unmarshal(out, a)
}

func copyFrom(to, from string, offset int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := in.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// addAssessment adds a row for each prediction: the measured value, and the value predicted for a machine of this
// speed.
func addAssessment(t *table, predicted *assessment, without, with dozenCost, speed float64) {
	add := func(name string, measured float64, b bounds) {
		t.add(name+": measured, predicted", fmt.Sprintf("%.2f s", measured), fmt.Sprintf("%.2f s", speed*b.Estimate),
			fmt.Sprintf("%+.0f %%, range %.2f to %.2f s", 100*(speed*b.Estimate/measured-1), speed*b.Low, speed*b.High))
	}
	saved := (without.direct - with.direct).Seconds()
	add("CPU of kube-apiserver", without.direct.Seconds(), predicted.CPU)
	add("CPU that the facade saves", saved, predicted.Saved)
	add("CPU of the facade", with.facade.Seconds(), predicted.Facade)
	share := predicted.Saved.Estimate / predicted.CPU.Estimate
	t.add("share of kube-apiserver's CPU that the facade saves: measured, predicted",
		fmt.Sprintf("%.1f %%", 100*saved/without.direct.Seconds()), fmt.Sprintf("%.1f %%", 100*share), "")
	t.add("share of requests that the facade answers, predicted", "",
		fmt.Sprintf("%.1f %%", 100*float64(predicted.Served)/float64(predicted.Requests)), "")
	t.add("a list of all pods on this machine, as a multiple of its price", report.Number(speed), "", "")
}
