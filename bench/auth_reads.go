package main

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

// authRounds are how often each way to say who asks is measured, in turns.
const authRounds = 8

// asker is one way to say who asks, of one server.
type asker struct {
	name   string
	server *server
}

// askers are a certificate's and a token's user, both with rights that have to be asked for, on either server, and
// nobody on a facade that asks nobody; which is stopped in the end.
func (s *stage) askers(ctx context.Context) (direct, facade []asker, stop func(), err error) {
	admin, err := administrator(s.cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := admit(ctx, admin); err != nil {
		return nil, nil, nil, err
	}
	user, err := certificate(s.cluster, testkit.ClientCA, "bench-user", readers)
	if err != nil {
		return nil, nil, nil, err
	}
	bearer, err := token(ctx, admin)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, who := range []struct {
		name   string
		config rest.Config
	}{{"a certificate", rest.Config{TLSClientConfig: user}}, {"a token", rest.Config{BearerToken: bearer}}} {
		for into, server := range map[*[]asker]*server{&direct: s.direct, &facade: s.facade} {
			one, err := server.as(who.config)
			if err != nil {
				return nil, nil, nil, err
			}
			*into = append(*into, asker{who.name, one})
		}
	}
	open, _, err := startFacade(ctx, s.dir, s.cluster, s.direct, "--anonymous-acts-as-kubeconfig")
	if err != nil {
		return nil, nil, nil, err
	}
	nobody, err := open.server.as(rest.Config{})
	if err != nil {
		open.stop()
		return nil, nil, nil, err
	}
	return direct, append(facade, asker{"nothing (--anonymous-acts-as-kubeconfig)", nobody}), open.stop, nil
}

// measureAuthReads adds what a GET of an object in the cache costs by how the caller is proven. What is known of it is
// asked for again every ten seconds, as ever.
func measureAuthReads(ctx context.Context, s *stage, t *table) error {
	direct, facade, stop, err := s.askers(ctx)
	if err != nil {
		return err
	}
	defer stop()
	q := question{name: "GET a namespace", path: "/api/v1/namespaces/default?resourceVersion=0", encoding: "identity", protocol: http2}
	directCPU, facadeCPU, err := s.takeTurns(ctx, load{question: q}, direct, facade)
	if err != nil {
		return err
	}
	for i, who := range facade {
		if i < len(direct) {
			t.addDurations("GET a namespace by "+who.name+": server CPU", directCPU[i], facadeCPU[i])
			continue
		}
		t.add("GET a namespace by "+who.name+": server CPU", "", report.Duration(facadeCPU[i]), "")
	}
	if s.options.profiles == "" {
		return nil
	}
	for i, who := range facade {
		say("profiling: %s", who.name)
		by := s.facade
		if i == len(facade)-1 {
			by = who.server
		}
		name := [...]string{"certificate", "token", "nothing"}[i]
		if err := who.server.profileBy(ctx, by, load{question: q}, filepath.Join(s.options.profiles, "auth-get-"+name)); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns lets every asker ask for a block, one after the other, again and again; it returns the medians of the
// processor time for an answer.
func (s *stage) takeTurns(ctx context.Context, l load, direct, facade []asker) (directCPU, facadeCPU []time.Duration, err error) {
	all := append(append([]asker{}, direct...), facade...)
	costs := make([][]time.Duration, len(all))
	targets := make([]*target, len(all))
	for i, who := range all {
		targets[i] = &target{server: who.server, visit: l.visit()}
		if targets[i].callers, err = who.server.callers(ctx, 1, l.question.protocol); err != nil {
			return nil, nil, err
		}
		defer dismiss(targets[i].callers)
	}
	for round := range authRounds + 1 { // the first warms up
		for i, t := range targets {
			before, err := t.server.process.CPU()
			if err != nil {
				return nil, nil, err
			}
			b, err := t.drive(ctx, l)
			if err != nil {
				return nil, nil, err
			}
			after, err := t.server.process.CPU()
			if err != nil {
				return nil, nil, err
			}
			if round > 0 {
				costs[i] = append(costs[i], (after-before)/time.Duration(len(b.samples)))
			}
		}
	}
	medians := make([]time.Duration, len(all))
	for i, of := range costs {
		medians[i] = median(of)
	}
	return medians[:len(direct)], medians[len(direct):], nil
}
