package main

import (
	"context"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// authRounds is the number of rounds in which each identity is measured.
const authRounds = 8

// identity is a client of one server with one kind of credentials.
type identity struct {
	name   string
	server *server
}

// identities returns a client with a certificate and one with a token, each for both servers. RBAC gives both users
// their permissions, so kube-apiserver and the facade must authorize their requests. The last client of the facade is
// anonymous, on a separate facade with --anonymous-acts-as-kubeconfig; stop ends that facade.
func (s *stage) identities(ctx context.Context) (direct, facade []identity, stop func(), err error) {
	admin, err := administrator(s.cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := admit(ctx, admin); err != nil {
		return nil, nil, nil, err
	}
	user, err := certificate(s.cluster, "bench-user", readers)
	if err != nil {
		return nil, nil, nil, err
	}
	bearer, err := token(ctx, admin)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, id := range []struct {
		name   string
		config rest.Config
	}{{"a certificate", rest.Config{TLSClientConfig: user}}, {"a token", rest.Config{BearerToken: bearer}}} {
		for into, server := range map[*[]identity]*server{&direct: s.direct, &facade: s.facade} {
			one, err := server.as(id.config)
			if err != nil {
				return nil, nil, nil, err
			}
			*into = append(*into, identity{id.name, one})
		}
	}
	open, _, err := startFacade(ctx, s.dir, s.cluster, s.direct, "--anonymous-acts-as-kubeconfig")
	if err != nil {
		return nil, nil, nil, err
	}
	anonymous, err := open.server.as(rest.Config{})
	if err != nil {
		open.stop()
		return nil, nil, nil, err
	}
	return direct, append(facade, identity{"nothing (--anonymous-acts-as-kubeconfig)", anonymous}), open.stop, nil
}

// measureAuthReads adds the cost of a GET of a cached object by kind of credentials. The facade renews its cached
// decisions every ten seconds, as usual.
func measureAuthReads(ctx context.Context, s *stage, t *table) error {
	direct, facade, stop, err := s.identities(ctx)
	if err != nil {
		return err
	}
	defer stop()
	q := question{name: "GET a namespace", path: "/api/v1/namespaces/default?resourceVersion=0", encoding: "identity",
		protocol: http2}
	directCPU, facadeCPU, err := s.takeTurns(ctx, load{question: q}, direct, facade)
	if err != nil {
		return err
	}
	for i, id := range facade {
		if i < len(direct) {
			t.addDurations("GET a namespace by "+id.name+": server CPU", directCPU[i], facadeCPU[i])
			continue
		}
		t.add("GET a namespace by "+id.name+": server CPU", "", report.Duration(facadeCPU[i]), "")
	}
	if s.options.profiles == "" {
		return nil
	}
	for i, id := range facade {
		say("profiling: %s", id.name)
		by := s.facade
		if i == len(facade)-1 {
			by = id.server
		}
		name := [...]string{"certificate", "token", "nothing"}[i]
		if err := id.server.profileBy(ctx, by, load{question: q},
			filepath.Join(s.options.profiles, "auth-get-"+name)); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns runs one block for every client in turn, for authRounds rounds. It returns the median processor time of a
// response for each client.
func (s *stage) takeTurns(ctx context.Context, l load, direct,
	facade []identity) (directCPU, facadeCPU []time.Duration, err error) {
	all := append(append([]identity{}, direct...), facade...)
	costs := make([][]time.Duration, len(all))
	targets := make([]*target, len(all))
	for i, id := range all {
		targets[i] = &target{server: id.server, visit: l.visit()}
		if targets[i].callers, err = id.server.callers(ctx, 1, l.question.protocol); err != nil {
			return nil, nil, err
		}
		defer dismiss(targets[i].callers)
	}
	for round := range authRounds + 1 { // the first round is a warm-up
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
