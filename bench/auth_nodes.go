package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/agents"
	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	nodes        = 5000
	nodesOpening = 64 // nodes that connect at the same time
)

// measureNodes adds how many reviews kube-apiserver receives for the kubelets of 5,000 nodes, and the memory of their
// watches. Each kubelet has a client certificate, and therefore its own connection, and watches the pods of its node.
// measureNodes counts the reviews until all watches are open, and for one minute afterwards.
func measureNodes(ctx context.Context, s *stage, t *table) error {
	f, err := s.withDefaults(ctx, "--preload", "pods")
	if err != nil {
		return err
	}
	defer f.stop()
	kubelets, err := s.kubelets(ctx, f.server)
	if err != nil {
		return err
	}
	idle, err := f.server.usage(ctx)
	if err != nil {
		return err
	}
	before, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	say("opening the watches of %d nodes", nodes)
	kubelets.Start(ctx)
	defer kubelets.Close()
	if err := s.countReviews(ctx, kubelets, before, t); err != nil {
		return err
	}
	open, err := f.server.usage(ctx)
	if err != nil {
		return err
	}
	each := open.minus(idle).over(nodes)
	what := fmt.Sprintf("%d watches of nodes on their own connections", nodes)
	t.add(what+": each, heap and stacks / resident", "", report.Size(each.live)+" / "+report.Size(each.resident), "")
	t.add(what+": open a minute later", "", fmt.Sprint(kubelets.Counts().Watching), "")
	return nil
}

// kubelets returns clients that are not connected yet. Their watches start at the current version.
func (s *stage) kubelets(ctx context.Context, facade *server) (*agents.Fleet, error) {
	say("making %d certificates", nodes)
	certificates, err := nodeCertificates(s.cluster)
	if err != nil {
		return nil, err
	}
	q, err := s.direct.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return nil, err
	}
	version, err := q.version()
	if err != nil {
		return nil, err
	}
	watches := make([]agents.Watch, nodes)
	for i := range watches {
		watches[i] = agents.Watch{Path: "/api/v1/pods?fieldSelector=spec.nodeName%3D" + nodeName(i), Version: version}
	}
	return facade.fleet(agents.Config{Watches: watches, PerConnection: 1, Openers: nodesOpening,
		Certificate: func(i int) *tls.Certificate { return &certificates[i] }})
}

// nodeCertificates returns the client certificates of the kubelets.
func nodeCertificates(cluster *testkit.Cluster) ([]tls.Certificate, error) {
	all := make([]tls.Certificate, nodes)
	var making errgroup.Group
	making.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		making.Go(func() error {
			pair, err := certificate(cluster, "system:node:"+nodeName(i), "system:nodes")
			if err == nil {
				all[i], err = tls.X509KeyPair(pair.CertData, pair.KeyData)
			}
			return err
		})
	}
	return all, making.Wait()
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// countReviews waits until all watches are open, and for one minute more. It adds the time until all are open, and the
// reviews of both periods.
func (s *stage) countReviews(ctx context.Context, kubelets *agents.Fleet, before reviews, t *table) error {
	opening, cancel := context.WithTimeout(ctx, agentsWithin)
	defer cancel()
	took, err := kubelets.Await(opening, func(c agents.Counts) bool { return c.Watching == nodes })
	if err != nil {
		return fmt.Errorf("open the watches of nodes: %w", err)
	}
	opened, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	say("watching as %d nodes", nodes)
	select {
	case <-time.After(steadyFor):
	case <-ctx.Done():
	}
	later, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d nodes with certificates open a watch of their pods", nodes)
	t.add(what+": time", "", report.Duration(took), "")
	t.add(what+": refused / failed", "", kubelets.Refusals()+" / "+kubelets.Failures(), "")
	opened.since(before).add(t, what, took)
	later.since(opened).add(t, fmt.Sprintf("%d watches of nodes, a minute later", nodes), steadyFor)
	return nil
}
