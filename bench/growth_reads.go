package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	// growthTargets is the number of targets of each question: namespaces, nodes, pods or pages, at equal distances.
	growthTargets = 20
	// growthAnswers is the number of timed responses of each question, after one response for each target.
	growthAnswers = 1000
)

// growthRead is a question about several targets.
type growthRead struct {
	title string
	ask   []question
}

// questions measures reads whose cost should not depend on the number of pods.
func (g *growing) questions(ctx context.Context) error {
	pages, err := g.pagesOf(ctx)
	if err != nil {
		return err
	}
	reads := []growthRead{{title: "LIST a namespace (400 pods), JSON gzip"}, {title: "LIST a node (100 pods), JSON"},
		{title: "GET a pod"}}
	for i := range growthTargets {
		pod := i * (g.Objects / growthTargets)
		namespace, name := g.pods.Name(pod)
		list := "/api/v1/namespaces/" + namespace + "/pods"
		for read, q := range []question{
			{path: list + "?resourceVersion=0", encoding: "gzip"},
			{path: "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D" + g.pods.Node(pod), encoding: "identity"},
			{path: list + "/" + name + "?resourceVersion=0", encoding: "identity"},
		} {
			q.protocol = http2
			reads[read].ask = append(reads[read].ask, q)
		}
	}
	for _, read := range append(reads, growthRead{title: "A page of 500 of all pods, JSON gzip", ask: pages}) {
		one, err := g.time(ctx, read)
		if err != nil {
			return err
		}
		g.Reads = append(g.Reads, one)
	}
	return nil
}

// continuePattern finds the continue token in the head of a list.
var continuePattern = regexp.MustCompile(`"continue":"([^"]+)"`)

// pagesOf returns the first pages of a list of all pods.
func (g *growing) pagesOf(ctx context.Context) ([]question, error) {
	first, err := g.facade.dated(ctx,
		question{path: "/api/v1/pods?limit=500&resourceVersion=" + currentVersion, encoding: "gzip", protocol: http2})
	if err != nil {
		return nil, err
	}
	pages := []question{first}
	for len(pages) < growthTargets {
		plain := pages[len(pages)-1]
		plain.encoding = "identity"
		a, err := g.facade.read(ctx, plain)
		if err != nil {
			return nil, err
		}
		token := continuePattern.FindSubmatch(a.body[:min(len(a.body), 4<<10)])
		if token == nil {
			return nil, &answerError{server: g.facade.name, question: plain.String(), what: "no page follows"}
		}
		pages = append(pages, question{path: "/api/v1/pods?limit=500&continue=" + url.QueryEscape(string(token[1])),
			encoding: "gzip", protocol: http2})
	}
	return pages, nil
}

// time sends the question once for each target, then growthAnswers times in total.
func (g *growing) time(ctx context.Context, read growthRead) (report.GrownRead, error) {
	result := report.GrownRead{Title: read.title}
	callers, err := g.facade.callers(ctx, 1, http2)
	if err != nil {
		return result, err
	}
	defer dismiss(callers)
	first, _, err := g.round(ctx, callers[0], read.ask, len(read.ask))
	if err != nil {
		return result, err
	}
	again, cpu, err := g.round(ctx, callers[0], read.ask, growthAnswers)
	if err != nil {
		return result, err
	}
	result.First, result.P50, result.P99 = median(walls(first)), median(walls(again)), quantile(walls(again), 0.99)
	result.CPU, result.Bytes = cpu/growthAnswers, again[0].bytes
	say("%d pods: %s: %s, first %s, CPU %s", g.Objects, read.title, report.Duration(result.P50),
		report.Duration(result.First),
		report.Duration(result.CPU))
	return result, nil
}

// round sends n questions, and returns the samples and the facade's processor time.
func (g *growing) round(ctx context.Context, c caller, ask []question,
	n int) (samples []sample, cpu time.Duration, err error) {
	before, err := g.facade.process.CPU()
	if err != nil {
		return nil, 0, err
	}
	for i := range n {
		_, one, err := c.fetch(ctx, ask[i%len(ask)], io.Discard)
		if err != nil {
			return nil, 0, fmt.Errorf("response %d of %d: %w", i+1, n, err)
		}
		samples = append(samples, one)
	}
	after, err := g.facade.process.CPU()
	return samples, after - before, err
}

func walls(samples []sample) []time.Duration {
	all := make([]time.Duration, len(samples))
	for i, one := range samples {
		all[i] = one.wall
	}
	return all
}
